import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { isoMicros } from "./iso-micros.js";

/** A field of a value that may be anything: its text, or empty. Numbers become text, as ids are sometimes numbers. */
export function textAt(value: unknown, key: string): string {
  const field = fieldAt(value, key);
  return typeof field === "string" ? field : typeof field === "number" ? String(field) : "";
}

/** The object in a field, or an empty one. */
export function objectAt(value: unknown, key: string): JsonObject {
  const field = fieldAt(value, key);
  return isObject(field) ? (field as JsonObject) : {};
}

/** The list in a field, or an empty one. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const field = fieldAt(value, key);
  return Array.isArray(field) ? field : [];
}

export function fieldAt(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** All fields but these, without those that are null. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => !keys.includes(key) && value !== null && value !== undefined),
  );
}

/** Later times are in milliseconds, because this many seconds are the year 5138. */
const MOST_SECONDS = 1e11;

/** A time in microseconds: of a number of seconds or milliseconds, or of text in ISO 8601; undefined for all else. */
export function microsOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?[\d.]+$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) {
    return Math.round(number * (Math.abs(number) > MOST_SECONDS ? 1000 : 1_000_000));
  }
  return typeof value === "string" ? isoMicros(value) : undefined;
}
