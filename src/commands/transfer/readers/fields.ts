import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";

/** Later times are in milliseconds, because this many seconds are the year 5138. */
const MOST_SECONDS = 1e11;
/** A time in ISO 8601. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?)?\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;
/** The most characters of a title that is made of a text. */
const MOST_CHARACTERS = 100;

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

/** A time in microseconds: of a number of seconds or milliseconds, or of text in ISO 8601; undefined for all else. */
export function microsOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?[\d.]+$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) {
    return Math.round(number * (Math.abs(number) > MOST_SECONDS ? 1000 : 1_000_000));
  }
  return typeof value === "string" ? isoMicros(value) : undefined;
}

/** Microseconds since 1970 of a time in ISO 8601. Without a zone it is UTC, as in SQLite's `2025-01-31 12:00:00`. */
function isoMicros(text: string): number | undefined {
  const [found, day, time = "00:00", fraction = "", zone = "Z"] = TIME.exec(text.trim()) ?? [];
  if (found === undefined) return undefined;
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^utc$/i, "Z");
  const ms = Date.parse(`${day}T${time}${offset.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** The first line of what the user said first, for sessions of programs that have no titles. */
export function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n", 1);
  const characters = [...line.trim()];
  return characters.length <= MOST_CHARACTERS ? line.trim() : `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}

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
