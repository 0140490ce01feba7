import type { JsonObject, JsonValue } from "../../../domain/json.js";

/** What was done to a value, as notes name it. */
export type OnMend = (kind: string) => void;

export const SURROGATES = "texts with half characters, which are U+FFFD now";
const TOO_DEEP = "data nested too deep, whose depths are JSON text now";

/**
 * Makes any value of a file one that a Struct holds: texts are well-formed, numbers that JSON does not have are texts,
 * bytes are base64, and what is nested deeper than `depth` levels is JSON text. `undefined` leaves a field out.
 */
export function storableStruct(value: object, depth: number, onMend: OnMend): JsonObject {
  return objectOf(value, depth, onMend);
}

export function storableText(text: string, onMend: OnMend): string {
  if (text.isWellFormed()) return text;
  onMend(SURROGATES);
  return text.toWellFormed();
}

function storable(value: unknown, depth: number, onMend: OnMend): JsonValue | undefined {
  switch (typeof value) {
    case "string":
      return storableText(value, onMend);
    case "boolean":
    case "undefined":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (depth > 0) return Array.isArray(value) ? listOf(value, depth, onMend) : objectOf(value, depth, onMend);
  onMend(TOO_DEEP);
  return storableText(jsonOf(value), onMend);
}

function listOf(list: readonly unknown[], depth: number, onMend: OnMend): JsonValue {
  return list.map((item) => storable(item, depth - 1, onMend) ?? null);
}

function objectOf(object: object, depth: number, onMend: OnMend): JsonObject {
  const fields = new Map<string, JsonValue>();
  for (const [key, item] of Object.entries(object)) {
    const value = storable(item, depth - 1, onMend);
    if (value === undefined) continue;
    let name = storableText(key, onMend);
    while (fields.has(name)) name += "~";
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/** JSON text of a value of any depth. JSON.stringify runs out of stack on some that JSON.parse has made. */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? String(item) : item));
  } catch {
    return "[nested too deep]";
  }
}
