import type { JsonObject } from "@bufbuild/protobuf";

/**
 * A copy that fits into a Struct, without undefined values. Halves of characters become U+FFFD, because nobody can mend
 * the output of a tool that was cut inside a character. TypeError: the value is not a JSON object, or an integer is not
 * exact as a double.
 */
export function toJsonObject(value: unknown, name: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError(`${name} is not a JSON object`);
  return copy(value, name) as JsonObject;
}

function copy(value: unknown, path: string): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`${path} is ${value}, which is not JSON`);
  }
  if (Array.isArray(value)) return value.map((item, i) => copy(item, `${path}[${i}]`));
  const prototype = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError(`${path} is not JSON`);
  const entries = Object.entries(value as object).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), copy(item, `${path}.${key}`)]));
}
