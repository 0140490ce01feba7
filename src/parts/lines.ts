import { isObject, textAt } from "./fields.js";
import type { Json } from "./part.js";
import type { Output } from "./part-view.js";
import { withoutPiles } from "./piles.js";

/** Returns the first line with a letter or digit, without Markdown syntax, cut to a length. */
export function firstLine(text: string, length = 140): string {
  const line = text.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one)) ?? "";
  const plain = withoutPiles(withoutMarks(line.slice(0, 1000)));
  return plain.length > length ? `${plain.slice(0, length - 1).trimEnd()}…` : plain;
}

/** Removes the Markdown syntax at the beginning of a line and around words. */
export function withoutMarks(line: string): string {
  return line
    .replace(/^[\s#>*-]+/, "")
    .replace(/(\*{1,3}|`{1,3})(\S[^*`]*)\1/g, "$2")
    .replace(/(?<![\w\p{L}])_{1,3}(\S[^_]*)_{1,3}(?![\w\p{L}])/gu, "$1")
    .trim();
}

/** How much of the arguments is looked at for their line. */
const MAX_ARGUMENT_CHARACTERS = 10_000;

/** The arguments in one line, so that calls can be told apart. */
export function argsLine(args: Json | undefined, length = 160): string {
  if (args === undefined || args === null) return "";
  if (!isObject(args)) return cut(typeof args === "string" ? args : JSON.stringify(args), length);
  const entries = Object.entries(args);
  const only = entries.length === 1 ? entries[0]![1] : undefined;
  if (typeof only === "string") return cut(only, length);
  return cut(
    entries.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "),
    length,
  );
}

function cut(text: string, length: number): string {
  const line = withoutPiles(text.slice(0, MAX_ARGUMENT_CHARACTERS)).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Matches lines of an output that report a problem. */
const WRONG =
  /\b(error|fail(ed|ure)?|exception|panic|denied|refused|not found|no such|cannot|unexpected|aborted|timed? ?out)\b/i;

/** Matches the line that names the error, as most languages print it. */
const NAMED = /\b\w*(Error|Exception|error|panic)\b(\[\w+\])?:/;

/** Returns the reason why a call failed, in one line. */
export function errorLine(output: Output | undefined): string {
  return firstLine(errorLines(output, 1), 300);
}

/** Returns the line that names the reason and lines around it, `count` in total at most. */
export function errorLines(output: Output | undefined, count = 4): string {
  if (output?.text !== undefined) return linesAround(output.text, count);
  const json = output?.json;
  if (json === undefined) return "";
  const message = isObject(json) ? textAt(json, "message", "error", "stderr", "detail", "reason") : "";
  return message ? linesAround(message, count) : argsLine(json, 300);
}

function linesAround(text: string, count: number): string {
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.slice(0, 1000));
  const named = lines.findIndex((line) => NAMED.test(line));
  const telling = named >= 0 ? named : lines.findIndex((line) => WRONG.test(line));
  const from = Math.max(0, count === 1 ? telling : telling - 1);
  const around = lines.slice(from, from + count).join("\n");
  return withoutPiles(around).slice(0, 600);
}
