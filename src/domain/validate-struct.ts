import { invalidArgument } from "./errors.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { Limits } from "./limits.js";
import { structSize } from "./message-size.js";
import { checkBytes, checkText } from "./validate.js";

/**
 * Checks a Struct that every client must be able to read back: depth within the limit, no NaN or Infinity, well-formed
 * text, and only values that JSON has.
 */
export function checkStruct(field: string, value: unknown, limits: Limits): void {
  if (value === undefined) return;
  if (!isPlainObject(value)) throw invalidArgument(`${field} must be an object`);
  checkObject(field, value, 1, limits.structDepth);
}

function checkValue(field: string, value: unknown, depth: number, limit: number): void {
  if (value === null || typeof value === "boolean") return;
  if (typeof value === "string") checkText(field, value);
  else if (typeof value === "number") checkNumber(field, value);
  else if (Array.isArray(value)) checkList(field, value, depth + 1, limit);
  else if (isPlainObject(value)) checkObject(field, value, depth + 1, limit);
  else throw invalidArgument(`${field} holds a value that JSON cannot hold`);
}

function checkNumber(field: string, value: number): void {
  if (!Number.isFinite(value)) throw invalidArgument(`${field} holds ${value}; numbers must be finite`);
}

function checkObject(field: string, value: Record<string, unknown>, depth: number, limit: number): void {
  checkDepth(field, depth, limit);
  for (const key of Object.keys(value)) {
    checkText(`A key of ${field}`, key);
    checkValue(field, value[key], depth, limit);
  }
}

function checkList(field: string, value: readonly JsonValue[], depth: number, limit: number): void {
  checkDepth(field, depth, limit);
  for (const item of value) checkValue(field, item, depth, limit);
}

function checkDepth(field: string, depth: number, limit: number): void {
  if (depth > limit) throw invalidArgument(`${field} is nested deeper than ${limit} levels`);
}

/** Whether a value is an object that is neither a list nor an instance of a class, from any realm. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Checks the metadata of a session or a message: a Struct of at most 64 KiB as protobuf. */
export function checkMetadata(field: string, metadata: JsonObject | undefined, limits: Limits): void {
  if (metadata === undefined) return;
  checkStruct(field, metadata, limits);
  checkBytes(field, structSize(metadata), limits.metadataBytes);
}
