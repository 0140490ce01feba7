import { checkJsonText, closingQuote, numberAt, parseText, textOfBody } from "./json-text.js";
import type { ValueRoom } from "./value-room.js";

/** A number whose value no double has, as JSON text: `9223372036854775807`. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON whose numbers are all exact. */
export type ExactValue = null | boolean | number | string | ExactNumber | readonly ExactValue[] | ExactObject;
export type ExactObject = { readonly [key: string]: ExactValue };

/** Every number that is inexact as a double has so many digits, or an exponent. */
const MAY_BE_INEXACT = /[0-9.]{16}|[0-9][eE]/;
/** From here on JavaScript writes doubles with an exponent. */
const ROUND_FROM = 1e21;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;
/** A pair of surrogates, a lone one, or any other escape. */
const ESCAPE = /\\(?:(u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs;

/** Parses a body as `parseJson` does, but keeps numbers exactly, and makes U+FFFD of halves of characters. */
export function parseExactJson(bytes: Buffer, room: ValueRoom): ExactValue {
  const text = withoutHalves(textOfBody(bytes, room));
  return exactly(text, parseText(text));
}

/** Parses text from the store in the same way; undefined when it is no JSON, or too deep. */
export function readExactJson(text: string): ExactValue | undefined {
  try {
    const value: unknown = JSON.parse(text);
    checkJsonText(text, "The text");
    return exactly(text, value);
  } catch {
    return undefined;
  }
}

/** Writes JSON text with all digits of integers and of exact numbers. */
export function writeExactJson(value: ExactValue): string {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value === "number") return textOf(value);
  if (Array.isArray(value)) return `[${value.map(writeExactJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}:${writeExactJson(item)}`)
    .join(",")}}`;
}

function withoutHalves(text: string): string {
  if (!LONE_SURROGATE.test(text)) return text;
  return text.replace(ESCAPE, (whole: string, _pair?: string, half?: string) => (half ? "\\ufffd" : whole));
}

/** The parsed text, with an `ExactNumber` for each literal whose value `writeExactJson` would change. */
function exactly(text: string, parsed: unknown): ExactValue {
  const quoted = MAY_BE_INEXACT.test(text) ? quoteInexact(text) : text;
  return quoted === text ? (parsed as ExactValue) : withExactNumbers(parsed, JSON.parse(quoted));
}

/** Puts the number literals in quotes that are not exact as doubles. `text` is JSON that JSON.parse has accepted. */
function quoteInexact(text: string): string {
  let quoted = "";
  let copied = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === '"') {
      i = closingQuote(text, i);
    } else if (character === "-" || (character >= "0" && character <= "9")) {
      const literal = numberAt(text, i);
      if (!isExact(literal)) {
        quoted += `${text.slice(copied, i)}"${literal}"`;
        copied = i + literal.length;
      }
      i += literal.length - 1;
    }
  }
  return quoted + text.slice(copied);
}

function isExact(literal: string): boolean {
  const value = Number(literal);
  return Number.isFinite(value) && normalized(literal) === normalized(textOf(value));
}

/** JavaScript's text of a double, but with all digits of an integer that it would round. */
function textOf(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < ROUND_FROM ? `${BigInt(value)}` : JSON.stringify(value);
}

/** One text for each value: the digits without zeros at the ends, and the exponent of the last one. */
function normalized(literal: string): string {
  const [mantissa = "", exponent = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  let first = 0;
  while (digits[first] === "0") first++;
  let end = digits.length;
  while (end > first && digits[end - 1] === "0") end--;
  if (first === end) return "0";
  const shift = Number(exponent) - fraction.length + digits.length - end;
  return `${literal.startsWith("-") ? "-" : ""}${digits.slice(first, end)}e${shift}`;
}

/** `quoted` differs from `parsed` only where it has the text of a number. */
function withExactNumbers(parsed: unknown, quoted: unknown): ExactValue {
  if (typeof parsed === "number" && typeof quoted === "string") return new ExactNumber(quoted);
  if (typeof parsed !== "object" || parsed === null) return parsed as ExactValue;
  if (Array.isArray(parsed)) return parsed.map((item, i) => withExactNumbers(item, (quoted as unknown[])[i]));
  const fields = new Map(Object.entries(quoted as object));
  return Object.fromEntries(
    Object.entries(parsed).map(([key, item]) => [key, withExactNumbers(item, fields.get(key))]),
  );
}
