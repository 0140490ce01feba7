import { isUtf8 } from "node:buffer";
import { FieldError, invalidArgument } from "../api/api-error.js";
import { MAX_DEPTH, tooDeep, tooManyValues, type ValueRoom } from "./value-room.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** To call `indexOf` takes as long as to look at so many bytes. */
const SHORT_STRING = 16;

/** Integers with fewer digits are exact as doubles. */
const MAY_BE_INEXACT = /[0-9]{16}/;
/** A pattern that repeats over the digits instead would run out of stack on millions of them. */
const AFTER_NUMBER = /[^0-9.eE+-]/g;
const FRACTION_OR_EXPONENT = /[.eE]/;

/**
 * Parses JSON text, and refuses what JSON.parse accepts: a repeated key in an object, lone surrogates, unlimited
 * nesting and values, and integers that no double represents exactly. Holds room for the values.
 */
export function parseJson(bytes: Buffer, room: ValueRoom): unknown {
  const text = textOfBody(bytes, room);
  const value = parseText(text);
  checkIntegers(text);
  return value;
}

/** The text of a body, which must be UTF-8. Holds room for the values in it. */
export function textOfBody(bytes: Buffer, room: ValueRoom): string {
  room.holdValues(countValues(bytes, room.mostValues));
  if (!isUtf8(bytes)) throw invalidArgument("The body is not valid UTF-8");
  return bytes.toString("utf8");
}

/** Parses the text of a body, and refuses everything that `parseJson` refuses but inexact integers. */
export function parseText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalidArgument("The body is not valid JSON");
  }
  checkJsonText(text, "The body");
  return value;
}

/** Scans text that JSON.parse has accepted, but for its integers. `name` is its name in errors. */
export function checkJsonText(text: string, name: string): void {
  // The first test is much faster, and nearly always enough.
  const mayHaveLoneSurrogates = text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text);
  // The keys seen in each open object; undefined for a list.
  const open: (Set<string> | undefined)[] = [];
  let keys: Set<string> | undefined;
  let expectsKey = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case OPEN_OBJECT:
      case OPEN_LIST:
        expectsKey = text.charCodeAt(i) === OPEN_OBJECT;
        keys = expectsKey ? new Set() : undefined;
        if (open.push(keys) > MAX_DEPTH) throw tooDeep(name);
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        open.pop();
        keys = open.at(-1);
        break;
      case COMMA:
        expectsKey = keys !== undefined;
        break;
      case QUOTE: {
        const close = closingQuote(text, i);
        if (mayHaveLoneSurrogates) checkString(text.slice(i, close + 1), name);
        if (expectsKey) addKey(keys, text.slice(i + 1, close), name);
        expectsKey = false;
        i = close;
      }
    }
  }
}

function addKey(keys: Set<string> | undefined, raw: string, name: string): void {
  const key = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
  if (keys?.has(key)) throw invalidArgument(`${name} has the key ${JSON.stringify(key)} twice in one object`);
  keys?.add(key);
}

function checkString(literal: string, name: string): void {
  try {
    encodeURIComponent(JSON.parse(literal) as string);
  } catch {
    throw invalidArgument(`${name} has a lone surrogate, which is not a character`);
  }
}

/**
 * Counts the values in UTF-8 that may be JSON, without parsing it: an opening bracket begins the first value of an
 * object or a list, and a comma the next one. Stops at the first value above `limit`, and at too deep a level. In text
 * that is not JSON, JSON.parse gets no further.
 */
export function countValues(bytes: Uint8Array, limit: number): number {
  let values = 1;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth += 1;
        if (depth > MAX_DEPTH) throw tooDeep("The request");
        values += 1;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      case QUOTE:
        i = endOfString(bytes, i);
        break;
    }
    if (values > limit) throw tooManyValues(limit);
  }
  return values;
}

/** Where the string ends that begins at `open`, in UTF-8 that may be JSON; the end of the bytes if it does not end. */
function endOfString(bytes: Uint8Array, open: number): number {
  let i = open + 1;
  for (;;) {
    const near = Math.min(i + SHORT_STRING, bytes.length);
    for (; i < near; i++) {
      if (bytes[i] === QUOTE) return i;
      if (bytes[i] === BACKSLASH) i++;
    }
    const quote = bytes.indexOf(QUOTE, i);
    if (quote < 0) return bytes.length;
    let backslashes = 0;
    while (quote - backslashes > i && bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    i = quote + 1;
  }
}

/** The end of the string that begins at `open`, in JSON that JSON.parse has accepted. */
export function closingQuote(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/**
 * Refuses an integer literal that no double represents exactly, because JSON.parse would return a different number.
 * `text` is JSON that JSON.parse has accepted.
 */
export function checkIntegers(text: string): void {
  if (!MAY_BE_INEXACT.test(text)) return;
  // The current path: a key for each open object, an index for each open list.
  const path: (string | number)[] = [];
  let expectsKey = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === "{" || character === "[") {
      expectsKey = character === "{";
      path.push(expectsKey ? "" : 0);
    } else if (character === "}" || character === "]") {
      path.pop();
      expectsKey = false;
    } else if (character === ",") {
      const last = path.pop() as string | number;
      expectsKey = typeof last === "string";
      path.push(typeof last === "string" ? last : last + 1);
    } else if (character === '"') {
      const close = closingQuote(text, i);
      if (expectsKey) path[path.length - 1] = JSON.parse(text.slice(i, close + 1)) as string;
      expectsKey = false;
      i = close;
    } else if (character === "-" || (character >= "0" && character <= "9")) {
      const literal = numberAt(text, i);
      if (isInexact(literal)) throw inexact(literal, path);
      i += literal.length - 1;
    }
  }
}

/** The number literal that begins at `at`, in JSON that JSON.parse has accepted. */
export function numberAt(text: string, at: number): string {
  AFTER_NUMBER.lastIndex = at;
  return text.slice(at, AFTER_NUMBER.exec(text)?.index);
}

/**
 * A double's own shortest text is accepted even though the double may be a different integer, because this server and
 * JavaScript write it.
 */
function isInexact(literal: string): boolean {
  if (FRACTION_OR_EXPONENT.test(literal)) return false;
  const value = Number(literal);
  if (!Number.isFinite(value)) return true;
  return String(value) !== literal && BigInt(value) !== BigInt(literal);
}

function inexact(literal: string, path: readonly (string | number)[]): FieldError {
  const place = path.reduce<string>((joined, step) => {
    if (typeof step === "number") return `${joined}[${step}]`;
    return joined === "" ? step : `${joined}.${step}`;
  }, "");
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}…` : literal;
  return new FieldError(place, `the integer ${shown} is not exact as a double; send it as a string`);
}
