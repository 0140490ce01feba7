import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export interface StorableOptions {
  /** Keeps a Uint8Array as bytes, for frameworks whose own store does. JSON.stringify makes an object of it. */
  readonly keepBytes?: boolean;
}

/** The most levels of objects and lists in a Struct, the Struct itself included. */
const STRUCT_LEVELS = 24;
/** Below the depth at which JSON.stringify, and this conversion, run out of stack. */
const MOST_LEVELS = 1000;
/** Keys that mean something in an object without another key. One with more `$` in front is such a key, escaped. */
const ENVELOPE = /^\$+(number|bytes|json)$/;
const NUMBER = /^(-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|NaN|-?Infinity)$/;

/**
 * The value in a form that a Struct can hold: what JSON.stringify makes of it. What JSON.stringify refuses becomes a
 * text that says what it was: the digits of a bigint, `[Circular]`, `[Threw …]`. Halves of characters become U+FFFD.
 * Levels below the 24 of a Struct are kept as the JSON text of an object `{"$json": …}`. Never throws. `fromStorable`
 * is the exact inverse for JSON of well-formed texts. docs/decisions/0084 has the rule, which all adapters share.
 */
export function toStorable(value: unknown, options: StorableOptions = {}): JsonValue {
  return withinLevels(new Conversion(options).convert(value, "") ?? null, 1);
}

/** Like `toStorable`; what is no object as JSON becomes an object without fields. */
export function toStorableObject(value: unknown, options: StorableOptions = {}): JsonObject {
  const stored = toStorable(value, options);
  return isObject(stored) ? stored : {};
}

/**
 * The value that `toStorable` was given, as JSON.parse would give it. Never throws: what only looks like an envelope
 * comes back as it is.
 */
export function fromStorable(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return value.map(fromStorable);
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const [key = "", content] = entries[0] ?? [];
  if (entries.length !== 1 || !ENVELOPE.test(key))
    return Object.fromEntries(entries.map(([name, item]) => [name, fromStorable(item)]));
  if (key.startsWith("$$")) return Object.fromEntries([[key.slice(1), fromStorable(content)]]);
  const opened = typeof content === "string" ? open(key, content) : undefined;
  return opened ?? { [key]: fromStorable(content) };
}

/** What an envelope holds; undefined when its text is of another form. */
function open(key: string, text: string): unknown {
  if (key === "$number") return NUMBER.test(text) ? Number(text) : undefined;
  try {
    if (key === "$json") return fromStorable(JSON.parse(text) as JsonValue);
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** One value's conversion, which knows the objects that it is inside of. */
class Conversion {
  readonly #options: StorableOptions;
  readonly #above: unknown[] = [];

  constructor(options: StorableOptions) {
    this.#options = options;
  }

  /** Undefined for what JSON.stringify leaves out. */
  convert(value: unknown, key: string): JsonValue | undefined {
    try {
      if (this.#options.keepBytes === true && value instanceof Uint8Array) return { $bytes: base64Of(value) };
      return this.#convertJson(afterToJson(value, key));
    } catch (error) {
      return `[Threw ${nameOf(error)}]`;
    }
  }

  #convertJson(value: unknown): JsonValue | undefined {
    if (typeof value === "string") return value.toWellFormed();
    if (typeof value === "boolean") return value;
    if (typeof value === "bigint") return `${value}`;
    // JSON has no -0.
    if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
    if (value === null) return null;
    if (typeof value !== "object") return undefined;
    if (value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt)
      return this.#convertJson(value.valueOf());
    if (this.#above.includes(value)) return "[Circular]";
    if (this.#above.length === MOST_LEVELS) return `[Deeper than ${MOST_LEVELS} levels]`;
    this.#above.push(value);
    try {
      return Array.isArray(value) ? this.#convertList(value) : this.#convertObject(value);
    } finally {
      this.#above.pop();
    }
  }

  #convertList(list: readonly unknown[]): JsonValue[] {
    return Array.from({ length: list.length }, (_, i) => this.#convertField(list, `${i}`) ?? null);
  }

  #convertObject(object: object): JsonObject {
    const converted = new Map<string, JsonValue>();
    for (const key of Object.keys(object)) {
      const value = this.#convertField(object, key);
      if (value === undefined) continue;
      let name = key.toWellFormed();
      // Keys that differ in nothing but half a character stay different.
      while (converted.has(name)) name += "\ufffd";
      converted.set(name, value);
    }
    const [only = ""] = converted.keys();
    const isEscaped = converted.size === 1 && ENVELOPE.test(only);
    return Object.fromEntries(isEscaped ? [[`$${only}`, converted.get(only) as JsonValue]] : converted);
  }

  /** A getter may throw, which costs the others nothing. */
  #convertField(holder: object, key: string): JsonValue | undefined {
    try {
      return this.convert((holder as Record<string, unknown>)[key], key);
    } catch (error) {
      return `[Threw ${nameOf(error)}]`;
    }
  }
}

function afterToJson(value: unknown, key: string): unknown {
  if (value === null || (typeof value !== "object" && typeof value !== "bigint")) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, key) : value;
}

/** Puts what is nested too deep into JSON texts. */
function withinLevels(value: JsonValue, level: number): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  const items = Object.values(value);
  if (level === STRUCT_LEVELS && items.some((item) => typeof item === "object" && item !== null))
    return { $json: JSON.stringify(value) };
  if (Array.isArray(value)) return value.map((item) => withinLevels(item, level + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withinLevels(item, level + 1)]));
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function nameOf(error: unknown): string {
  try {
    return `${error}`.toWellFormed();
  } catch {
    return "an error without a text";
  }
}
