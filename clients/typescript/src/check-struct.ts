import { checkText } from "./check-text.js";

/**
 * Checks that a Struct holds only what JSON has, because the library would store undefined and BigInts as null, and the
 * fields of other objects, such as a Date, as far as it finds any, and would refuse NaN only when a call is sent. Its
 * texts must be well-formed. TypeError: the first value that is not valid, by its path.
 */
export function checkStruct(value: unknown, path: string): void {
  if (!isPlainObject(value)) throw new TypeError(`${path} must be an object, and is ${nameOf(value)}`);
  for (const key of Object.keys(value)) {
    checkText(key, `A key of ${path}`);
    checkValue(value[key], `${path}.${key}`);
  }
}

function checkValue(value: unknown, path: string): void {
  checkText(value, path);
  if (value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value)) return;
  if (Array.isArray(value)) for (const [i, item] of value.entries()) checkValue(item, `${path}[${i}]`);
  else if (isPlainObject(value)) checkStruct(value, path);
  else throw new TypeError(`${path} is ${nameOf(value)}, which JSON cannot hold`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object from another window or worker has the prototype of that place.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "number") return String(value);
  return typeof value === "object" ? `a ${value.constructor.name}` : `a ${typeof value}`;
}
