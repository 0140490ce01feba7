import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { MessageWithParts, Part } from "../../../gen/sessionpool/v1/message_service_pb.js";

/** Resolves to the bytes of an attachment of the conversation; to undefined if there are none. */
export type Download = (attachmentId: string) => Promise<Buffer | undefined>;

/** The key under which the adapters list what they keep of a part in attachments. docs/clients.md has the rule. */
const LISTED = "$attachments";
const ESCAPED = /^\$+attachments$/;
const FORMS: readonly unknown[] = ["text", "json", "data_url", "base64"];

interface Listed {
  readonly path: readonly (string | number)[];
  readonly id: string;
  readonly form: string;
}

/** The data of a part that lists nothing, whatever its keys are. */
export function withoutList(data: JsonObject): JsonObject {
  if (!Object.keys(data).some((key) => ESCAPED.test(key))) return data;
  return Object.fromEntries(Object.entries(data).map(([key, one]) => [ESCAPED.test(key) ? `$${key}` : key, one]));
}

/**
 * The message as an adapter had it that has put values of it into attachments. Where an attachment is missing, what is
 * kept at the place of its value stays.
 */
export async function withAttached(message: MessageWithParts, download: Download): Promise<MessageWithParts> {
  const ids = new Set(message.parts.flatMap(listedIn).map(({ id }) => id));
  const isOwn = ({ type, text, attachment }: Part) =>
    type !== "attachment" || text !== "" || !ids.has(`${attachment?.attachmentId}`);
  const parts: Part[] = [];
  for (const part of message.parts.filter(isOwn)) parts.push(await partWithValues(part, download));
  return { ...message, parts };
}

async function partWithValues(part: Part, download: Download): Promise<Part> {
  const { [LISTED]: list, ...kept } = part.data ?? {};
  const listed = listedIn(part);
  if (listed.length === 0) return { ...part, ...(part.data && { data: unescaped(part.data) }) };
  const values: JsonObject = { text: part.text, data: structuredClone(kept) };
  for (const { path, id, form } of listed) {
    const bytes = await download(id);
    if (bytes !== undefined) put(values, path, (old) => valueFrom(bytes, form, old));
  }
  return { ...part, text: String(values.text), data: unescaped(values.data as JsonObject) };
}

function listedIn({ data }: Part): Listed[] {
  const list = data?.[LISTED];
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    const { path, attachment_id: id, form } = (item ?? {}) as JsonObject;
    if (!Array.isArray(path) || typeof id !== "string" || !FORMS.includes(form)) return [];
    return [{ path: path as Listed["path"], id, form: String(form) }];
  });
}

function unescaped(data: JsonObject): JsonObject {
  const entries = Object.entries(data).map(([key, one]) => [
    key !== LISTED && ESCAPED.test(key) ? key.slice(1) : key,
    one,
  ]);
  return Object.fromEntries(entries);
}

/** A path that leads nowhere changes nothing. */
function put(holder: JsonValue, [key, ...rest]: Listed["path"], make: (old: JsonValue) => JsonValue): void {
  if (typeof holder !== "object" || holder === null || key === undefined || !Object.hasOwn(holder, key)) return;
  const object = holder as JsonObject;
  if (rest.length > 0) put(object[key] as JsonValue, rest, make);
  // Assigning to `__proto__` would do something else.
  else Object.defineProperty(object, key, { value: make(object[key] as JsonValue) });
}

function valueFrom(bytes: Buffer, form: string, old: JsonValue): JsonValue {
  if (form === "base64") return bytes.toString("base64");
  if (form === "data_url") return `${old}${bytes.toString("base64")}`;
  return form === "text" ? bytes.toString() : (JSON.parse(bytes.toString()) as JsonValue);
}
