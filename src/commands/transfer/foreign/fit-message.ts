import type { Part } from "../../../domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../../domain/json.js";
import type { Limits } from "../../../domain/limits.js";
import { messageSize, structSize } from "../../../domain/message-size.js";
import type { FileMessage } from "../session-file.js";
import { cutText } from "./cut-text.js";

/** Below this many bytes texts are not cut further; what is too large then is not its texts. */
const LEAST_CUT = 256;

/** A field of metadata, or of an object in it; `key` is null for a field of metadata itself. */
interface Field {
  readonly name: string;
  readonly key: string | null;
  readonly size: number;
}

/** Fields of metadata that were too large, and the rest. */
interface Moved {
  readonly kept: JsonObject;
  readonly moved: JsonObject;
}

/**
 * Takes the largest fields out of metadata until the rest fits; of the objects on the first level, which programs name,
 * their fields. Null when it fits already.
 */
export function moveBulky(metadata: JsonObject, maxBytes: number): Moved | null {
  if (structSize(metadata) <= maxBytes) return null;
  const fields = Object.entries(metadata).flatMap(([name, value]): Field[] =>
    isObject(value)
      ? Object.entries(value).map(([key, item]) => ({ name, key, size: structSize({ [key]: item }) }))
      : [{ name, key: null, size: structSize({ [name]: value }) }],
  );
  let bytes = structSize(metadata);
  const taken = new Map<string, Set<string | null>>();
  for (const { name, key, size } of fields.sort((a, b) => b.size - a.size)) {
    if (bytes <= maxBytes) break;
    taken.set(name, (taken.get(name) ?? new Set()).add(key));
    bytes -= size;
  }
  const pick = (isMoved: boolean) =>
    fieldsOf(metadata, (name, key) => (taken.get(name)?.has(key) ?? false) === isMoved);
  const kept = pick(false);
  // The names of very many fields can be too large by themselves.
  return structSize(kept) <= maxBytes ? { kept, moved: pick(true) } : { kept: {}, moved: metadata };
}

function fieldsOf(metadata: JsonObject, isPicked: (name: string, key: string | null) => boolean): JsonObject {
  const picked = Object.entries(metadata).flatMap(([name, value]): [string, JsonValue][] => {
    if (!isObject(value)) return isPicked(name, null) ? [[name, value]] : [];
    const inner = Object.entries(value).filter(([key]) => isPicked(name, key));
    return inner.length > 0 ? [[name, Object.fromEntries(inner)]] : [];
  });
  return Object.fromEntries(picked);
}

/** Splits a message with too many parts into several, which together have them all. */
export function splitParts(message: FileMessage, maxParts: number, idOf: (count: number) => string): FileMessage[] {
  if (message.parts.length <= maxParts) return [message];
  const messages: FileMessage[] = [];
  for (let first = 0; first < message.parts.length; first += maxParts) {
    const parts = message.parts.slice(first, first + maxParts);
    // The usage must not count several times.
    const usage = first === 0 ? message.usage : undefined;
    messages.push({ ...message, ...(first > 0 && { id: idOf(messages.length + 1) }), parts, usage });
  }
  return messages;
}

/**
 * Cuts the longest texts of a message that is too large, in its parts' texts and data, until it fits. A part of which
 * something was cut says in `data.truncated` how many bytes its texts had. Null when it fits already.
 */
export function cutMessage(message: FileMessage, { messageBytes }: Limits): FileMessage | null {
  if (messageSize(message) <= messageBytes) return null;
  for (let most = messageBytes / 2; most >= LEAST_CUT; most /= 2) {
    const cut = { ...message, parts: message.parts.map((part) => cutPart(part, Math.floor(most))) };
    if (messageSize(cut) <= messageBytes) return cut;
  }
  const room = Math.floor(messageBytes / (2 * Math.max(message.parts.length, 1)));
  const flat = { ...message, parts: message.parts.map((part) => flatPart(part, room)) };
  if (messageSize(flat) <= messageBytes) return flat;
  const marker = { id: "", type: "truncated", text: "", data: { truncated: messageSize(message) } };
  return { ...message, parts: [marker], metadata: undefined };
}

function cutPart(part: Part, most: number): Part {
  let full = 0;
  const cut = (text: string) => {
    if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
    full += Buffer.byteLength(text);
    return cutText(text, most);
  };
  const text = cut(part.text);
  const data = part.data && (cutValue(part.data, cut) as JsonObject);
  return full === 0 ? part : { ...part, text, data: { ...data, truncated: full } };
}

/** A part whose data is not large because of its texts: the beginning of its JSON text. */
function flatPart(part: Part, most: number): Part {
  const data = JSON.stringify(part.data ?? {});
  const full = Buffer.byteLength(part.text) + Buffer.byteLength(data);
  const quarter = Math.floor(most / 4);
  const names = { id: cutText(part.id, 64), type: cutText(part.type, 64) };
  if (full <= quarter) return { ...part, ...names };
  return {
    ...names,
    text: cutText(part.text, quarter),
    data: { truncated: full, json: cutText(data, quarter) },
  };
}

function cutValue(value: JsonValue, cut: (text: string) => string): JsonValue {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.map((item: JsonValue) => cutValue(item, cut));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutValue(item, cut)]));
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
