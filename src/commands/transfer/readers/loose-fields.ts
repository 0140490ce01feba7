import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";

/** The text of a field, or an empty one. */
export function textAt(value: unknown, ...names: readonly string[]): string {
  for (const name of names) {
    const field = at(value, name);
    if (typeof field === "string" && field !== "") return field;
  }
  return "";
}

/** The object of a field, or an empty one. */
export function objectAt(value: unknown, name: string): JsonObject {
  const field = at(value, name);
  return isObject(field) ? (field as JsonObject) : {};
}

/** The list of a field, or an empty one. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const field = at(value, name);
  return Array.isArray(field) ? field : [];
}

/** An object without some of its fields, and without null ones; undefined when nothing is left. */
export function rest(value: unknown, ...names: readonly string[]): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  const kept = Object.entries(value).filter(([name, field]) => !names.includes(name) && field !== null);
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as JsonObject);
}

function at(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
