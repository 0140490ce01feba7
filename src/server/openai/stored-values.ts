import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ExactNumber, type ExactObject, type ExactValue, readExactJson } from "../../codec/exact-json.js";

/** The most levels of objects and lists in a Struct, the Struct itself included. */
const STRUCT_LEVELS = 24;
/** Keys that mean something in an object without another key. One with more `$` in front is such a key, escaped. */
const ENVELOPE = /^\$+(number|bytes|json)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/**
 * JSON in a form that a Struct can hold: numbers that no double has are `{"$number": …}`, and levels below the 24 of a
 * Struct, `above` of which are around the value, are the JSON text of an object `{"$json": …}`. Objects that look like
 * these get one more `$`. docs/decisions/0084 has the rule, which all adapters share.
 */
export function toStored(object: ExactObject, above = 0): JsonObject {
  return withinLevels(convert(object), above + 1) as JsonObject;
}

/**
 * The JSON that `toStored` was given. Bytes, which only other programs store, stay `{"$bytes": …}`; `NaN` and infinity
 * become texts, because JSON has no such numbers. What only looks like an envelope comes back as it is.
 */
export function fromStored(object: JsonObject = {}): ExactObject {
  return restore(object) as ExactObject;
}

function convert(value: ExactValue): JsonValue {
  if (value instanceof ExactNumber) return { $number: value.text };
  if (!isNested(value)) return value;
  if (Array.isArray(value)) return value.map(convert);
  const entries = Object.entries(value).map(([key, item]) => [key, convert(item)] as const);
  const [[only, content] = ["", null]] = entries;
  return Object.fromEntries(entries.length === 1 && ENVELOPE.test(only) ? [[`$${only}`, content]] : entries);
}

/** Puts what is nested too deep into JSON texts. */
function withinLevels(value: JsonValue, level: number): JsonValue {
  if (!isNested(value)) return value;
  if (level === STRUCT_LEVELS && Object.values(value).some(isNested)) return { $json: JSON.stringify(value) };
  if (Array.isArray(value)) return value.map((item) => withinLevels(item, level + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withinLevels(item, level + 1)]));
}

function restore(value: ExactValue): ExactValue {
  if (!isNested(value) || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(restore);
  const entries = Object.entries(value);
  const [[key, content] = ["", null]] = entries;
  if (entries.length === 1 && ENVELOPE.test(key)) {
    if (key.startsWith("$$")) return Object.fromEntries([[key.slice(1), restore(content)]]);
    const opened = typeof content === "string" ? open(key, content) : undefined;
    if (opened !== undefined) return opened;
  }
  return Object.fromEntries(entries.map(([name, item]) => [name, restore(item)]));
}

/** What an envelope holds; undefined when its text is of another form. */
function open(key: string, text: string): ExactValue | undefined {
  if (key === "$json") {
    const value = readExactJson(text);
    return value === undefined ? undefined : restore(value);
  }
  if (key !== "$number") return undefined;
  if (/^(NaN|-?Infinity)$/.test(text)) return text;
  return NUMBER.test(text) ? new ExactNumber(text) : undefined;
}

function isNested(value: ExactValue): value is ExactObject | readonly ExactValue[] {
  return typeof value === "object" && value !== null;
}
