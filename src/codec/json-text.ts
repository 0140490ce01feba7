import { isUtf8 } from "node:buffer";
import { invalidArgument } from "../api/api-error.js";
import { checkIntegers } from "./json-integers.js";
import { closingQuote, countValues } from "./json-scan.js";
import { MAX_DEPTH, tooDeep, type ValueRoom } from "./value-room.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

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
  const mayHaveLoneSurrogates = /\\u[dD][89a-fA-F]/.test(text);
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
