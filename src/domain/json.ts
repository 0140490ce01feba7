/** A value that JSON can hold. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/**
 * A Struct. The caller chooses the keys, which may be anything, even `__proto__`: build such objects with `JSON.parse`,
 * `Object.fromEntries` or a null prototype, never by assignment.
 */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** Escapes U+0085, U+2028 and U+2029, which JSON allows but some line readers treat as line ends. */
export function onOneLine(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Whether two values are equal, whatever the order of keys. */
function sameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isArray(a) || isArray(b)) {
    return isArray(a) && isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i] as JsonValue));
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as JsonValue, b[key] as JsonValue))
  );
}

/** Whether two Structs are equal; an absent Struct equals an empty one. */
export function sameStruct(a: JsonObject | undefined, b: JsonObject | undefined): boolean {
  return sameJson(a ?? {}, b ?? {});
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
