import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { textAt, without } from "./fields.js";

/** The first text of some fields that is not empty; empty when there is none. */
export function firstText(value: unknown, ...names: readonly string[]): string {
  return names.map((name) => textAt(value, name)).find((text) => text !== "") ?? "";
}

/** All fields but these, without those that are null; undefined when nothing is left. */
export function rest(value: unknown, ...names: readonly string[]): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  const kept = without(value as JsonObject, ...names);
  return Object.keys(kept).length === 0 ? undefined : kept;
}
