import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { base64Length, bytesOf } from "./base64.js";

/** How an attachment holds a value: docs/clients.md has the rule, which all adapters share. */
export type Form = "text" | "json" | "data_url" | "base64";

export type Path = readonly (string | number)[];

/** A value that is kept in an attachment. */
export interface Attachable {
  /** The place of the value: keys and indexes, from the part. */
  readonly path: Path;
  readonly form: Form;
  readonly mediaType: string;
  readonly name: string;
  readonly size: number;
  readonly bytes: () => Uint8Array<ArrayBuffer>;
  /** What stays at its place. */
  readonly kept: string;
}

/** Texts and JSON texts of more bytes are kept in attachments. */
export const MOST_INLINE_BYTES = 256 * 1024;
/** So much of a text stays at its place. */
export const PREVIEW_BYTES = 16 * 1024;
/** Files of at least so many bytes are kept in attachments. */
export const LEAST_FILE_BYTES = 4 * 1024;

const DATA_URL = /^data:([^,]{0,255});base64,/;
const MEDIA_TYPE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;[ -~]*)?$/;
const MEDIA_TYPES = ["media_type", "mediaType", "mime_type", "mimeType", "type"];
/** Keys of files, in any object, and in one that says of what type it is. */
const FILE = /^(\$bytes|b64_json|base64|blob|file_data)$/;
const MAYBE_FILE = /^(data|file|image|result)$/;
const FILE_TYPE = /^(base64|(input_)?(audio|file|image)|computer_screenshot|image_generation_call)$/;
const MOST_NAME_BYTES = 255;

/** The texts and files in a value that are kept in attachments, in the order of their keys. */
export function attachablesIn(value: JsonValue, path: Path, holder: JsonObject = {}): Attachable[] {
  if (typeof value === "string") return fileOf(value, path, holder) ?? textOf(value, path) ?? [];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => attachablesIn(item, [...path, i]));
  const keys = Object.keys(value).sort();
  return keys.flatMap((key) => attachablesIn(value[key] as JsonValue, [...path, key], value));
}

function textOf(text: string, path: Path): Attachable[] | undefined {
  // A character takes at most three bytes for each of its UTF-16 code units.
  if (text.length * 3 <= MOST_INLINE_BYTES) return undefined;
  const whole = wholeOf(text, path);
  return whole.size > MOST_INLINE_BYTES ? [whole] : undefined;
}

/** A value as a text, or as JSON if it is another value or is not well-formed. */
export function wholeOf(value: JsonValue, path: Path): Attachable {
  const isText = typeof value === "string" && value.isWellFormed();
  const text = isText ? value : JSON.stringify(value);
  const bytes = new TextEncoder().encode(text);
  const kept = beginningOf(text, PREVIEW_BYTES);
  const { form, mediaType } = isText
    ? { form: "text" as const, mediaType: "text/plain; charset=utf-8" }
    : { form: "json" as const, mediaType: "application/json" };
  return { path, form, mediaType, name: "", size: bytes.length, bytes: () => bytes, kept };
}

/** A data URL, or base64 where a file is. Undefined: any other text, or one that is not written back the same. */
function fileOf(text: string, path: Path, holder: JsonObject): Attachable[] | undefined {
  if (text.length < LEAST_FILE_BYTES) return undefined;
  const [head = "", named] = DATA_URL.exec(text) ?? [];
  if (head === "" && !isFilePlace(path.at(-1), holder)) return undefined;
  const base64 = text.slice(head.length);
  const size = base64Length(base64);
  if (size === undefined || size < LEAST_FILE_BYTES) return undefined;
  const mediaType = [named, ...MEDIA_TYPES.map((key) => holder[key])].find(isMediaType) ?? "application/octet-stream";
  const name = isName(holder.filename) ? holder.filename : "";
  const form = head === "" ? "base64" : "data_url";
  return [{ path, form, mediaType, name, size, bytes: () => bytesOf(base64), kept: head }];
}

function isFilePlace(key: string | number | undefined, holder: JsonObject): boolean {
  if (FILE.test(`${key}`)) return true;
  if (!MAYBE_FILE.test(`${key}`)) return false;
  return FILE_TYPE.test(`${holder.type}`) || MEDIA_TYPES.some((name) => isMediaType(holder[name]));
}

function isMediaType(value: unknown): value is string {
  return typeof value === "string" && value.length <= MOST_NAME_BYTES && MEDIA_TYPE.test(value);
}

function isName(value: unknown): value is string {
  if (typeof value !== "string" || !value.isWellFormed()) return false;
  return byteLength(value) <= MOST_NAME_BYTES && !/\p{Cc}/u.test(value);
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The beginning of a text, at most so many bytes of UTF-8, and not cut inside a character. */
export function beginningOf(text: string, bytes: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read);
}
