import { FieldError } from "../api/api-error.js";
import { closingQuote } from "./json-scan.js";

/** Integers with fewer digits are exact as doubles. */
const MAY_BE_INEXACT = /[0-9]{16}/;
/** A pattern that repeats over the digits instead would run out of stack on millions of them. */
const AFTER_NUMBER = /[^0-9.eE+-]/g;
const FRACTION_OR_EXPONENT = /[.eE]/;

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
