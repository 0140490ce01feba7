import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { NewMessage } from "../index.js";
import {
  type Attachable,
  attachablesIn,
  byteLength,
  MOST_INLINE_BYTES,
  type Path,
  PREVIEW_BYTES,
  wholeOf,
} from "./attachable.js";
import { countValues, sizeOf } from "./batches.js";
import { exceeds, MOST_BYTES } from "./fitted.js";

/** What is to be uploaded. */
export interface Upload {
  readonly attachmentId: string;
  readonly mediaType: string;
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A message whose large values are in attachments, and these. */
export interface Attached {
  readonly message: NewMessage;
  readonly uploads: readonly Upload[];
}

export interface AttachOptions {
  /** The type of the parts whose `text` is the JSON text of an object, in which values are found as in `data`. */
  readonly jsonTextType?: string;
}

/** The key under which the `data` of a part lists its attachments. */
export const LISTED = "$attachments";
/** Keys of `data` that mean something here get one more `$`. */
export const ESCAPED = /^\$+attachments$/;
/** The type of the parts that name attachments which no other part does. */
export const ATTACHMENT = "attachment";
/** The most values of a message, because the service takes 100 parts that name attachments. */
const MOST_ATTACHMENTS = 100;

/** A part as it is stored. */
interface Part {
  readonly id?: string;
  readonly type?: string;
  readonly text?: string;
  readonly data?: JsonObject;
  readonly attachment?: { readonly attachmentId: string };
}

/** A text, or a field of an object, and what is found in it. */
interface Field {
  readonly path: Path;
  readonly value: JsonValue;
  found: readonly Attachable[];
}

/** A part that is taken apart. */
interface Opened {
  readonly part: Part;
  /** The object that `text` is the JSON text of, if it was asked for. */
  readonly json: JsonObject | undefined;
  readonly data: JsonObject | undefined;
  /** The text, or the fields of `json`, and those of `data`. */
  readonly fields: readonly Field[];
}

/**
 * Puts what is too large for a message into attachments, by the rule of docs/clients.md. The result depends on the
 * message alone, ids included, so that a message that is saved again names the same attachments.
 */
export async function attached(message: NewMessage, { jsonTextType }: AttachOptions = {}): Promise<Attached> {
  const parts = ((message.parts ?? []) as Part[]).map((part) => opened(part, jsonTextType));
  keepLargest(parts);
  attachUntilItFits(message, parts);
  const found = foundIn(parts);
  if (found.length === 0) return { message: { ...message, parts: parts.map(withoutFound) } as NewMessage, uploads: [] };
  const uploads = new Map<Attachable, Upload>();
  for (const one of found) uploads.set(one, await uploadOf(one));
  const closed = parts.map((part) => closedPart(part, (one) => uploads.get(one)?.attachmentId ?? ""));
  const named = new Set(closed.map(({ attachment }) => attachment?.attachmentId));
  const all = new Map([...uploads.values()].map((upload) => [upload.attachmentId, upload]));
  const others = [...all.keys()].filter((id) => !named.has(id)).map(namingPart);
  return { message: { ...message, parts: [...closed, ...others] } as NewMessage, uploads: [...all.values()] };
}

function opened(part: Part, jsonTextType: string | undefined): Opened {
  const { type, text = "" } = part;
  const json = jsonTextType !== undefined && type === jsonTextType ? objectOf(text) : undefined;
  const data = part.data && escaped(part.data);
  const whole = { path: ["text"], value: text, found: attachablesIn(text, ["text"]) };
  const ofText = json === undefined ? [whole] : fieldsOf(json, "text");
  return { part, json, data, fields: [...ofText, ...fieldsOf(data ?? {}, "data")] };
}

function objectOf(json: string): JsonObject | undefined {
  const value = JSON.parse(json) as JsonValue;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** The fields of an object. One that is still large without what is found in it is found as a whole. */
function fieldsOf(object: JsonObject, root: "text" | "data"): Field[] {
  const keys = Object.keys(object).sort();
  return keys.map((key) => {
    const path = [root, key];
    const value = object[key] as JsonValue;
    const field = { path, value, found: attachablesIn(value, path, object) };
    const isLarge = typeof value === "object" && bytesOf(field) > MOST_INLINE_BYTES;
    return isLarge ? { ...field, found: [wholeOf(value, path)] } : field;
  });
}

/** The bytes of a field as JSON, without what is found in it. */
function bytesOf({ path, value, found }: Field): number {
  return byteLength(JSON.stringify(withKept(value, found, path.length)));
}

/** The value with what stays at the places of what was found. `depth` is how much of their paths leads to the value. */
function withKept(value: JsonValue, found: readonly Attachable[], depth: number): JsonValue {
  const [first] = found;
  if (first === undefined) return value;
  if (first.path.length === depth) return first.kept;
  const copy = new Map(Object.entries(value as JsonObject));
  for (const [key, item] of copy) {
    const inside = found.filter(({ path }) => `${path[depth]}` === key);
    copy.set(key, withKept(item, inside, depth + 1));
  }
  return Array.isArray(value) ? [...copy.values()] : Object.fromEntries(copy);
}

function foundIn(parts: readonly Opened[]): Attachable[] {
  return parts.flatMap(({ fields }) => fields.flatMap(({ found }) => found));
}

/** Leaves all but the largest values where they are. */
function keepLargest(parts: readonly Opened[]): void {
  const all = foundIn(parts);
  if (all.length <= MOST_ATTACHMENTS) return;
  const largest = new Set(all.sort((a, b) => b.size - a.size).slice(0, MOST_ATTACHMENTS));
  for (const field of parts.flatMap(({ fields }) => fields))
    field.found = field.found.filter((one) => largest.has(one));
}

/** Of a message that is still over its limits, attaches texts and fields as a whole, the largest first. */
function attachUntilItFits(message: NewMessage, parts: readonly Opened[]): void {
  const stored = () =>
    ({ ...message, parts: parts.map((part) => closedPart(part, () => "0".repeat(64))) }) as NewMessage;
  const over = bytesOver(stored());
  if (over === undefined) return;
  const fields = parts.flatMap((part) => part.fields.map((field) => ({ field, bytes: bytesOf(field) })));
  let saved = 0;
  for (const { field, bytes } of fields.sort((a, b) => b.bytes - a.bytes)) {
    if (bytes <= 2 * PREVIEW_BYTES) return;
    if (foundIn(parts).length - field.found.length === MOST_ATTACHMENTS) continue;
    field.found = [wholeOf(field.value, field.path)];
    saved += bytes - PREVIEW_BYTES;
    // The whole message is measured only when this should be enough.
    if (saved >= over && bytesOver(stored()) === undefined) return;
  }
}

function withoutFound({ part, data }: Opened): Part {
  return data === part.data ? part : { ...part, data: data as JsonObject };
}

/** The part with what is kept in it, the list of its attachments, and the name of the first. */
function closedPart(opened: Opened, idOf: (one: Attachable) => string): Part {
  const { part, json, data = {}, fields } = opened;
  const found = fields.flatMap((field) => field.found);
  const [first] = found;
  if (first === undefined) return withoutFound(opened);
  const [ofText, ofData] = ["text", "data"].map((root) => found.filter(({ path }) => path[0] === root));
  const kept = withKept(json ?? part.text ?? "", ofText ?? [], 1);
  const text = typeof kept === "string" ? kept : JSON.stringify(kept);
  const listed = found.map((one) => ({ path: [...one.path], attachment_id: idOf(one), form: one.form }));
  const others = withKept(data, ofData ?? [], 1) as JsonObject;
  return { ...part, text, data: { ...others, [LISTED]: listed }, attachment: { attachmentId: idOf(first) } };
}

function namingPart(id: string): Part {
  return { id, type: ATTACHMENT, attachment: { attachmentId: id } };
}

/** The id is a hash of everything that an upload is compared by. */
async function uploadOf({ mediaType, name, bytes }: Attachable): Promise<Upload> {
  const content = bytes();
  const head = new TextEncoder().encode(`${mediaType}\n${name}\n`);
  const hashed = new Uint8Array(head.length + content.length);
  hashed.set(head);
  hashed.set(content, head.length);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", hashed));
  return { attachmentId: hexOf(hash), mediaType, name, bytes: content };
}

/** Escapes keys that the list of attachments would be mistaken for. */
function escaped(data: JsonObject): JsonObject {
  const entries = Object.entries(data);
  if (!entries.some(([key]) => ESCAPED.test(key))) return data;
  return Object.fromEntries(entries.map(([key, value]) => [ESCAPED.test(key) ? `$${key}` : key, value]));
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** By how many bytes a message is over its limit; undefined if it is within all of them. */
function bytesOver(message: NewMessage): number | undefined {
  const size = { bytes: sizeOf(message), values: countValues(message), parts: 0, metadataBytes: 0 };
  return exceeds(size) ? size.bytes - MOST_BYTES : undefined;
}
