import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { SessionPoolClient, StoredMessage } from "../index.js";
import type { Form, Path } from "./attachable.js";
import { ATTACHMENT, ESCAPED, LISTED } from "./attached.js";
import { base64Of } from "./base64.js";
import { unlessMissing } from "./missing.js";
import { parseJson } from "./parse-json.js";

/** An attachment that a part lists, and the place of its value. */
export interface Listed {
  readonly path: Path;
  readonly attachmentId: string;
  readonly form: Form;
}

/** Resolves to the bytes of an attachment; to undefined if there are none. */
export type ReadAttachment = (attachmentId: string) => Promise<Uint8Array | undefined>;

type Part = StoredMessage["parts"][number];

/** How many attachments are read at a time. */
const MOST_AT_ONCE = 8;
const FORMS: readonly unknown[] = ["text", "json", "data_url", "base64"] satisfies readonly Form[];

/**
 * The messages with the values that `attached` has put into attachments. Each attachment is read once. A value whose
 * attachment is missing, for example because it was left out of a backup, stays as what is kept at its place.
 */
export async function restored(
  client: SessionPoolClient,
  sessionId: string,
  messages: readonly StoredMessage[],
): Promise<StoredMessage[]> {
  const read: ReadAttachment = (attachmentId) =>
    unlessMissing(async () => (await client.downloadAttachment(sessionId, attachmentId)).bytes());
  return await restoredBy(read, messages);
}

export async function restoredBy(read: ReadAttachment, messages: readonly StoredMessage[]): Promise<StoredMessage[]> {
  const ids = new Set(messages.flatMap(({ parts }) => parts.flatMap(listedIn).map((one) => one.attachmentId)));
  const bytes = new Map<string, Uint8Array>();
  const waiting = ids.values();
  const readNext = async () => {
    for (const id of waiting) {
      const content = await read(id);
      if (content !== undefined) bytes.set(id, content);
    }
  };
  await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, ids.size) }, readNext));
  return messages.map((message) => withValues(message, bytes));
}

/** The ids of the attachments that the parts of a message list. */
export function listedIds({ parts }: Pick<StoredMessage, "parts">): Set<string> {
  return new Set(parts.flatMap(listedIn).map(({ attachmentId }) => attachmentId));
}

function withValues(message: StoredMessage, bytes: ReadonlyMap<string, Uint8Array>): StoredMessage {
  const ids = listedIds(message);
  const isOwn = ({ type, text, data, attachment }: Part) =>
    type !== ATTACHMENT || text !== "" || data !== undefined || !ids.has(`${attachment?.attachmentId}`);
  const parts = message.parts.filter(isOwn).map((part) => partWithValues(part, bytes));
  const isSame = parts.length === message.parts.length && parts.every((part, i) => part === message.parts[i]);
  return isSame ? message : { ...message, parts };
}

function partWithValues(part: Part, bytes: ReadonlyMap<string, Uint8Array>): Part {
  const listed = listedIn(part);
  if (listed.length === 0) {
    const data = part.data && unescaped(part.data);
    return data === part.data ? part : ({ ...part, data } as Part);
  }
  const { [LISTED]: _list, ...kept } = part.data as JsonObject;
  // Paths that go on below a text lead into the object that it is the JSON text of.
  const isJson = listed.some(({ path }) => path[0] === "text" && path.length > 1);
  const values: JsonObject = { text: (isJson ? parseJson(part.text) : undefined) ?? part.text, data: kept };
  for (const { path, attachmentId, form } of listed) {
    const content = bytes.get(attachmentId);
    if (content !== undefined) put(values, path, (old) => valueFrom(content, form, old));
  }
  const text = typeof values.text === "string" ? values.text : JSON.stringify(values.text);
  const data = unescaped(values.data as JsonObject);
  const isOwn = listed.some(({ attachmentId }) => attachmentId === part.attachment?.attachmentId);
  return {
    ...part,
    text,
    data: Object.keys(data).length > 0 ? data : undefined,
    attachment: isOwn ? undefined : part.attachment,
  } as Part;
}

/** What `attached` has listed in a part. A list of another form is a field like any other. */
function listedIn({ data }: Part): Listed[] {
  const list = data?.[LISTED];
  if (!Array.isArray(list)) return [];
  const listed = list.map((item) => {
    const { path, attachment_id: attachmentId, form } = (item ?? {}) as JsonObject;
    const isPath =
      Array.isArray(path) && path.length > 0 && path.every((key) => ["string", "number"].includes(typeof key));
    return isPath && typeof attachmentId === "string" && FORMS.includes(form)
      ? { path: path as Path, attachmentId, form: form as Form }
      : undefined;
  });
  return listed.every((one) => one !== undefined) ? listed : [];
}

/** The data with the keys that were escaped because of the list. */
function unescaped(data: JsonObject): JsonObject {
  const entries = Object.entries(data);
  const isEscaped = (key: string) => key !== LISTED && ESCAPED.test(key);
  if (!entries.some(([key]) => isEscaped(key))) return data;
  return Object.fromEntries(entries.map(([key, value]) => [isEscaped(key) ? key.slice(1) : key, value]));
}

/** Puts a value in its place, in copies of what holds it. A path that leads nowhere changes nothing. */
function put(holder: JsonObject, [key = "", ...rest]: Path, make: (kept: JsonValue) => JsonValue | undefined): void {
  if (!Object.prototype.propertyIsEnumerable.call(holder, key)) return;
  const old = holder[key] as JsonValue;
  const value = rest.length === 0 ? make(old) : copyOf(old);
  if (value === undefined) return;
  if (rest.length > 0) put(value as JsonObject, rest, make);
  // Assigning to `__proto__` would do something else.
  Object.defineProperty(holder, key, { value });
}

function copyOf(value: JsonValue): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Array.isArray(value) ? [...value] : { ...value };
}

function valueFrom(bytes: Uint8Array, form: Form, kept: JsonValue): JsonValue | undefined {
  if (form === "base64") return base64Of(bytes);
  if (form === "data_url") return `${kept}${base64Of(bytes)}`;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  return form === "text" ? text : parseJson(text);
}
