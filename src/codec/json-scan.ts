import { MAX_DEPTH, tooDeep, tooManyValues } from "./value-room.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

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
        for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
        break;
    }
    if (values > limit) throw tooManyValues(limit);
  }
  return values;
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
