import { createHash } from "node:crypto";
import { checkNewAttachment, DEFAULT_MEDIA_TYPE, partOf } from "../../../domain/attachment.js";
import type { Part } from "../../../domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../../domain/json.js";
import type { Limits } from "../../../domain/limits.js";
import { cutText } from "./cut-text.js";

/** Texts with more bytes of UTF-8 are attachments. */
const TEXT_BYTES = 256 * 1024;
/** How much of such a text its place keeps. */
const PREVIEW_BYTES = 16 * 1024;
/** Files with fewer bytes stay where they are. */
const FILE_BYTES = 4 * 1024;
const DATA_URL = /^data:([^,]{0,250});base64,/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const FILE_KEYS: ReadonlySet<string> = new Set(["$bytes", "b64_json", "base64", "blob", "file_data"]);
/** Keys under which a file is if something beside it says so. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(["data", "file", "image", "result"]);
const FILE_TYPE = /^(?:base64|(?:input_)?(?:audio|file|image)|computer_screenshot|image_generation_call)$/;
const TYPE_FIELDS = ["media_type", "mediaType", "mime_type", "mimeType", "type"] as const;
const ESCAPED = /^\$+attachments$/;

/** Bytes that a part had within itself. */
export interface AttachedValue {
  readonly attachmentId: string;
  readonly mediaType: string;
  readonly name: string;
  readonly bytes: Buffer;
}

interface Found extends AttachedValue {
  readonly path: readonly (string | number)[];
  readonly form: "text" | "data_url" | "base64";
  /** What stays at the place. */
  readonly left: string;
}

/** The id of an attachment that is made of its content, so that the same content always has the same id. */
export function contentId(mediaType: string, name: string) {
  return createHash("sha256").update(`${mediaType}\n${name}\n`);
}

/**
 * Takes large texts, data URLs and base64 out of a part, at most `most` of them, in the form in which the clients'
 * adapters keep them (docs/clients.md, Attachments of the adapters). The part names the first one, unless it names
 * another attachment already.
 */
export function attachValues(part: Part, most: number, limits: Limits): { part: Part; attached: Found[] } {
  const attached: Found[] = [];
  const take = (value: string, object: JsonObject, path: Found["path"]): string => {
    const found = attached.length < most ? valueAt(value, object, path, limits) : undefined;
    if (found !== undefined) attached.push(found);
    return found?.left ?? value;
  };
  const text = take(part.text, {}, ["text"]);
  const own = part.data && escaped(part.data);
  const data = own && (withoutLarge(own, own, ["data"], take) as JsonObject);
  if (attached.length === 0) return { part: data === undefined ? part : { ...part, data }, attached };
  const list = attached.map(({ path, attachmentId, form }) => ({ path, attachment_id: attachmentId, form }));
  const [first] = attached;
  const attachment = part.attachment ?? (first && attachmentOf(first));
  return {
    part: { ...part, text, data: { ...data, $attachments: list as unknown as JsonValue }, attachment },
    attached,
  };
}

/** What a part says of such an attachment. */
export function attachmentOf(value: AttachedValue) {
  const sha256 = createHash("sha256").update(value.bytes).digest("hex");
  return partOf({ ...value, size: value.bytes.length, sha256 });
}

function withoutLarge(
  value: JsonValue,
  object: JsonObject,
  path: Found["path"],
  take: (value: string, object: JsonObject, path: Found["path"]) => string,
): JsonValue {
  if (typeof value === "string") return value.length < FILE_BYTES ? value : take(value, object, path);
  if (Array.isArray(value)) return value.map((item: JsonValue, i) => withoutLarge(item, {}, [...path, i], take));
  if (typeof value !== "object" || value === null) return value;
  const own = value as JsonObject;
  const keys = Object.keys(own).sort((a, b) => (a < b ? -1 : 1));
  const taken = new Map(keys.map((key) => [key, withoutLarge(own[key] as JsonValue, own, [...path, key], take)]));
  return Object.fromEntries(Object.keys(own).map((key) => [key, taken.get(key) as JsonValue]));
}

function valueAt(value: string, object: JsonObject, path: Found["path"], limits: Limits): Found | undefined {
  const beside = TYPE_FIELDS.map((field) => textAt(object, field));
  const url = DATA_URL.exec(value);
  const ofUrl = url && bytesOf(value.slice(url[0].length));
  if (url && ofUrl) return fileAt(ofUrl, [url[1] ?? "", ...beside], "data_url", url[0], object, path, limits);
  const key = path.at(-1);
  const isFile =
    typeof key === "string" &&
    (FILE_KEYS.has(key) ||
      (PLAIN_KEYS.has(key) && (FILE_TYPE.test(textAt(object, "type")) || beside.some((one) => isType(one, limits)))));
  const bytes = isFile ? bytesOf(value) : undefined;
  if (bytes !== undefined) return fileAt(bytes, beside, "base64", "", object, path, limits);
  if (value.length * 3 <= TEXT_BYTES || Buffer.byteLength(value) <= TEXT_BYTES) return undefined;
  const text = { mediaType: "text/plain; charset=utf-8", name: "", bytes: Buffer.from(value) };
  return made(text, "text", cutText(value, PREVIEW_BYTES), path, limits);
}

function fileAt(
  bytes: Buffer,
  types: readonly string[],
  form: Found["form"],
  left: string,
  object: JsonObject,
  path: Found["path"],
  limits: Limits,
): Found | undefined {
  const mediaType = types.find((one) => isType(one, limits)) ?? DEFAULT_MEDIA_TYPE;
  const filename = textAt(object, "filename");
  const name = isAllowed({ name: filename }, limits) ? filename : "";
  return made({ mediaType, name, bytes }, form, left, path, limits);
}

function made(
  content: Omit<AttachedValue, "attachmentId">,
  form: Found["form"],
  left: string,
  path: Found["path"],
  { attachmentBytes }: Limits,
): Found | undefined {
  if (content.bytes.length > attachmentBytes) return undefined;
  const attachmentId = contentId(content.mediaType, content.name).update(content.bytes).digest("hex");
  return { attachmentId, ...content, form, left, path };
}

/** The bytes of base64 that would be written the same again, if there are enough of them. */
function bytesOf(base64: string): Buffer | undefined {
  if (base64.length < (FILE_BYTES / 3) * 4 || base64.length % 4 !== 0 || !BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, "base64");
  return bytes.length >= FILE_BYTES && bytes.toString("base64") === base64 ? bytes : undefined;
}

function isType(text: string, limits: Limits): boolean {
  return /^[\x20-\x7e]+$/.test(text) && isAllowed({ mediaType: text }, limits);
}

/** Whether the service takes a name or a media type. */
export function isAllowed(
  attachment: { readonly name?: string; readonly mediaType?: string },
  limits: Limits,
): boolean {
  try {
    checkNewAttachment(attachment, limits);
    return true;
  } catch {
    return false;
  }
}

function textAt(object: JsonObject, key: string): string {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? value : "";
}

function escaped(data: JsonObject): JsonObject {
  if (!Object.keys(data).some((key) => ESCAPED.test(key))) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [ESCAPED.test(key) ? `$${key}` : key, value]));
}
