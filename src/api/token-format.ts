import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { invalidArgument } from "../domain/errors.js";

/**
 * A token is base64url of `crc32 (4 bytes) | JSON list`; the first two items of the list are the version and the kind.
 * Only tokens that the service gave out are accepted: the checksum finds altered ones, and a different spelling of the
 * same bytes is refused.
 */
const VERSION = 1;
const CHECKSUM_BYTES = 4;
/**
 * Far more than a token with three ids of the usual limit takes. The checksum does not keep anybody from making others.
 */
const MOST_CHARACTERS = 64 * 1024;

type TokenKind =
  | "messages"
  | "sessions"
  | "list"
  | "deleted"
  | "search"
  | "watch"
  | "attachments"
  | "annotations"
  | "feed"
  | "usage";
type Scalar = string | number | boolean | null;

/** Types of the fields after version and kind. `?` marks a field that may be null or, at the end, absent. */
const FIELDS: Record<TokenKind, string> = {
  messages: "string boolean boolean integer? integer? string count string count?",
  sessions: "string integer string string?",
  list: "string key string",
  deleted: "integer string string?",
  search: "string string string?",
  watch: "string count count",
  attachments: "string string",
  usage: "string string string?",
  annotations: "string string integer string",
  feed: "string string",
};

/** A token of this kind, with the fields that its kind has. */
export function encodeToken(kind: TokenKind, fields: readonly Scalar[]): string {
  const payload = Buffer.from(JSON.stringify([VERSION, kind, ...fields]));
  const token = Buffer.allocUnsafe(CHECKSUM_BYTES + payload.length);
  token.writeUInt32BE(crc32(payload));
  payload.copy(token, CHECKSUM_BYTES);
  return token.toString("base64url");
}

/** The fields of a token. `invalid_argument`, which names `field`: it is none, or one of another kind or version. */
export function decodeToken(field: string, kind: TokenKind, token: string): readonly Scalar[] {
  if (token.length > MOST_CHARACTERS) throw invalidArgument(`${field} is not a token that was given out`);
  const bytes = Buffer.from(token, "base64url");
  const payload = bytes.subarray(CHECKSUM_BYTES);
  const intact =
    bytes.length > CHECKSUM_BYTES && bytes.toString("base64url") === token && bytes.readUInt32BE() === crc32(payload);
  const content = intact ? parseList(payload) : undefined;
  if (content === undefined) throw invalidArgument(`${field} is not a token that was given out`);
  const [version, tokenKind, ...fields] = content;
  if (version !== VERSION) throw invalidArgument(`${field} was made by another version of the service`);
  if (tokenKind !== kind) throw invalidArgument(`${field} belongs to another list`);
  if (!hasFields(kind, fields)) throw invalidArgument(`${field} is not a token that was given out`);
  return fields;
}

function parseList(payload: Buffer): readonly unknown[] | undefined {
  try {
    const content: unknown = JSON.parse(payload.toString());
    return Array.isArray(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

function hasFields(kind: TokenKind, fields: readonly unknown[]): fields is readonly Scalar[] {
  const types = FIELDS[kind].split(" ");
  return fields.length <= types.length && types.every((type, i) => hasType(type, fields[i]));
}

function hasType(type: string, value: unknown): boolean {
  if (type.endsWith("?")) return value === null || value === undefined || hasType(type.slice(0, -1), value);
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "key") return typeof value === "string" || Number.isSafeInteger(value);
  if (type === "count") return Number.isSafeInteger(value) && (value as number) >= 0;
  return typeof value === type;
}

/** A short digest of what a list covers, to which its tokens belong. */
export function digestOf(texts: readonly (string | object)[], owner: string | undefined): string {
  const digested = owner === undefined ? texts : [...texts, { owner }];
  return createHash("sha256").update(JSON.stringify(digested)).digest("base64url").slice(0, 22);
}
