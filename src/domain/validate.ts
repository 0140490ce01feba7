import { invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Checks an id that names or makes something: required, 1-128 bytes of UTF-8 without control characters, and not `.` or
 * `..`.
 */
export function checkId(field: string, value: string, limits: Limits): void {
  checkText(field, value);
  if (value === "") throw invalidArgument(`${field} is required`);
  checkBytes(field, Buffer.byteLength(value), limits.idBytes);
  if (hasControl(value)) throw invalidArgument(`${field} must not contain control characters`);
  if (value === "." || value === "..") throw invalidArgument(`${field} must not be "." or ".."`);
}

export function hasControl(text: string): boolean {
  return CONTROL.test(text);
}

/** Checks an id that may be left out; empty means absent. */
export function checkOptionalId(field: string, value: string | undefined, limits: Limits): void {
  if (value !== undefined && value !== "") checkId(field, value, limits);
}

/** Checks that UTF-8 can hold the text: it must be a string without lone surrogates. */
export function checkText(field: string, value: string): void {
  if (typeof value !== "string") throw invalidArgument(`${field} must be a string`);
  if (!value.isWellFormed()) {
    throw invalidArgument(`${field} is not well-formed Unicode: it holds a lone surrogate`);
  }
}

/** Checks what only a program that embeds the library can get wrong, and only if no compiler checks its types. */
export function checkIsObject(field: string, value: unknown): void {
  if (typeof value !== "object" || value === null) throw invalidArgument(`${field} must be an object`);
}

/** Checks, as {@link checkIsObject} does, what a program gets wrong only if no compiler checks its types. */
export function checkIsList(field: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be a list`);
}

export function checkBytes(field: string, bytes: number, limit: number): void {
  if (bytes > limit) throw invalidArgument(`${field} is ${bytes} bytes; at most ${limit} are allowed`);
}
