import { closingQuote } from "../../../codec/json-text.js";

/** Integers with fewer digits are exact as doubles. */
const MAY_BE_INEXACT = /[0-9]{16}|[0-9][eE]\+?[0-9]{3}/;
const NOT_A_NUMBER = /\b(?:NaN|Infinity)\b/;
/** What the scan stops at outside of texts: the beginning of a text, a number, or a word that JSON does not have. */
const TOKEN = /"|-?[0-9][0-9.eE+-]*|-?(?:NaN|Infinity)\b/g;

/**
 * Parses JSON. Numbers that a double cannot hold become texts: integers beyond 2^53 whose digits would change, numbers
 * beyond the largest double, and NaN and Infinity, which Python writes. Throws a SyntaxError.
 */
export function parseEntry(text: string): unknown {
  const exact = MAY_BE_INEXACT.test(text) ? withTexts(text) : text;
  try {
    return JSON.parse(exact);
  } catch (error) {
    if (!NOT_A_NUMBER.test(text)) throw error;
    return JSON.parse(withTexts(text));
  }
}

/** The text with quotation marks around the numbers that no double holds. */
function withTexts(text: string): string {
  const pieces: string[] = [];
  let from = 0;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const [token] = match;
    if (token === '"') {
      const close = closingQuote(text, match.index);
      if (close < 0) break;
      TOKEN.lastIndex = close + 1;
    } else if (!isHeld(token)) {
      pieces.push(text.slice(from, match.index), JSON.stringify(token));
      from = TOKEN.lastIndex;
    }
  }
  return pieces.join("") + text.slice(from);
}

function isHeld(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  if (/[.eE]/.test(token)) return true;
  // Of what is larger, JavaScript writes other digits, even if the double is exact.
  return Number.isSafeInteger(value) || String(value) === token;
}
