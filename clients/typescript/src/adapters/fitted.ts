import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { NewMessage } from "../index.js";
import { beginningOf } from "./attachable.js";
import { countValues, MOST_VALUES, sizeOf } from "./batches.js";

/** The API's limits of one message, less what the list of what was cut may take. */
export const MOST_BYTES = 3 * 1024 * 1024 - 16 * 1024;
const MOST_METADATA_BYTES = 60 * 1024;
const MOST_PARTS = 10_000;
/** A message that grows is cut anew only so often, because in a draft a cut text has to be sent again. */
const STEP_BYTES = 128 * 1024;
/** Texts of at most this size are not cut, and at least half of it stays of a text that is cut. */
const SHORT_BYTES = 512;
/** Values that are worth a JSON text of their own. */
const MANY_VALUES = 100;
const MOST_MARKS = 20;
const MOST_WARNED = 1000;

/** What was cut. The message's metadata lists it under `truncated`. */
type Mark = {
  /** Such as `parts[2].data.output`; `parts` when parts were left out. */
  readonly path: string;
  /** The full length: UTF-16 code units of a text, or a number of parts. */
  readonly length: number;
};

/** A value of a message, and where it stands. */
interface Place {
  readonly path: string;
  readonly value: JsonValue;
  readonly set: (value: JsonValue) => void;
}

type Part = { readonly data?: JsonObject };
type Fitting = { readonly info: { readonly id?: string; metadata?: JsonObject }; parts: Part[] };

type MessageLimit = "parts" | "bytes" | "values" | "metadataBytes";

const warned = new Set<string>();

/**
 * The message itself if it is within the API's limits: 3 MiB, 10,000 parts, 100,000 values, and metadata of 64 KiB.
 * Otherwise a copy that is. In it, objects and lists of many values are `{"$json": …}`, from which `fromStorable` makes
 * the same value. If that is not enough, the largest texts are cut, and end with `[truncated: …]`; parts above the
 * limit are left out. `truncated` in the metadata lists the first 20 places with their full lengths, and a warning is
 * logged once for each message. The same message is always cut in the same way, so it can be saved again.
 */
export function fitted(message: NewMessage): NewMessage {
  const { parts = [], info = {} } = message;
  const metadataBytes = metadataSize(info.metadata);
  const size = { parts: parts.length, bytes: sizeOf(message), values: countValues(message), metadataBytes };
  if (!exceeds(size)) return message;
  return cut(structuredClone({ ...message, info, parts }) as unknown as Fitting) as NewMessage;
}

/** Whether a message of this size would have to be cut. */
export function exceeds({ parts, bytes, values, metadataBytes }: Record<MessageLimit, number>): boolean {
  return parts > MOST_PARTS || bytes > MOST_BYTES || values > MOST_VALUES || metadataBytes > MOST_METADATA_BYTES;
}

function cut(message: Fitting): Fitting {
  const marks: Mark[] = [];
  cutMetadata(message, marks);
  if (message.parts.length > MOST_PARTS) leaveOut(message, MOST_PARTS, marks);
  if (isOver(message)) packValues(message.parts);
  const texts = message.parts.flatMap((part, i) => textsIn(part as JsonObject, `parts[${i}]`));
  cutTexts(texts, () => sizeOf(message as NewMessage) - MOST_BYTES, marks, STEP_BYTES);
  // What is left is many short texts.
  while (isOver(message)) leaveOut(message, Math.floor(message.parts.length / 2), marks);
  if (marks.length === 0) return message;
  message.info.metadata = { ...message.info.metadata, truncated: marks.slice(0, MOST_MARKS) };
  warn(message.info.id ?? "", marks);
  return message;
}

function cutMetadata({ info }: Fitting, marks: Mark[]): void {
  const { metadata } = info;
  if (metadata === undefined) return;
  const excess = () => metadataSize(metadata) - MOST_METADATA_BYTES;
  cutTexts(textsIn(metadata, "metadata"), excess, marks);
  if (excess() <= 0) return;
  marks.push({ path: "metadata", length: JSON.stringify(metadata).length });
  info.metadata = {};
}

function isOver(message: Fitting): boolean {
  return sizeOf(message as NewMessage) > MOST_BYTES || countValues(message) > MOST_VALUES;
}

/** Makes JSON texts of the fields with many values, which are then smaller, and one value each. */
function packValues(parts: readonly Part[]): void {
  for (const { data = {} } of parts)
    for (const { value, set } of placesIn(data, ""))
      if (countValues(value) > MANY_VALUES) set({ $json: JSON.stringify(value) });
}

/**
 * Cuts texts, the largest first, until `excess` is 0 or no large text is left. There may be thousands of texts, so the
 * whole message is measured only when the cuts should be enough.
 */
function cutTexts(texts: readonly Place[], excess: () => number, marks: Mark[], step = 1): void {
  let rest = excess();
  if (rest <= 0) return;
  const sized = texts.map((place) => ({ ...place, text: place.value as string, bytes: byteLength(place.value) }));
  for (const { path, text, bytes, set } of sized.sort((a, b) => b.bytes - a.bytes)) {
    if (rest <= 0) rest = excess();
    if (rest <= 0 || bytes <= SHORT_BYTES) return;
    const over = Math.ceil(rest / step) * step;
    const kept = beginningOf(text, Math.max(SHORT_BYTES / 2, bytes - over - SHORT_BYTES / 2));
    const shortened = `${kept}… [truncated: ${kept.length} of ${text.length} characters]`;
    set(shortened);
    marks.push({ path, length: text.length });
    rest -= bytes - byteLength(shortened);
  }
}

/** The texts in an object, at any depth. The JSON text of a `{"$json": …}` stands for it as a whole. */
function textsIn(object: JsonObject, path: string): Place[] {
  return placesIn(object, path).flatMap((place) => {
    const { value } = place;
    if (typeof value === "string") return [place];
    if (typeof value !== "object" || value === null) return [];
    const { $json } = value as JsonObject;
    return typeof $json === "string" ? [{ ...place, value: $json }] : textsIn(value as JsonObject, place.path);
  });
}

/** The fields of an object, or the items of a list. */
function placesIn(object: JsonObject, path: string): Place[] {
  return Object.entries(object).map(([key, value]) => ({
    path: Array.isArray(object) ? `${path}[${key}]` : `${path}.${key}`,
    value,
    // Assigning to `__proto__` would do something else.
    set: (other) => void Object.defineProperty(object, key, { value: other }),
  }));
}

function leaveOut(message: Fitting, count: number, marks: Mark[]): void {
  if (!marks.some(({ path }) => path === "parts")) marks.unshift({ path: "parts", length: message.parts.length });
  message.parts = message.parts.slice(0, count);
}

function metadataSize(metadata: unknown): number {
  return sizeOf({ info: { metadata }, parts: [] } as NewMessage);
}

function byteLength(text: JsonValue): number {
  return new TextEncoder().encode(text as string).length;
}

/** Says what was cut, and never its content. */
function warn(id: string, marks: readonly Mark[]): void {
  if (warned.has(id)) return;
  if (warned.size === MOST_WARNED) warned.clear();
  warned.add(id);
  const places = marks.slice(0, MOST_MARKS).map(({ path, length }) => `${path} (${length})`);
  console.warn(`session-pool: message ${JSON.stringify(id)} is over a limit and was truncated: ${places.join(", ")}`);
}
