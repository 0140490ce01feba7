import type { Json } from "../api/types.js";
import { firstLine } from "../text/format.js";
import { withoutPiles } from "../text/piles.js";
import type { FoundResult } from "./call-index.js";
import { isObject, textAt } from "./fields.js";
import type { CallStatus, CallView, Output, Stage } from "./part-view.js";

export interface Outcome {
  readonly status: CallStatus | undefined;
  readonly output: Output | undefined;
  readonly durationMs: number | undefined;
}

/** How a call ended, by its result if that is known, otherwise by the part itself. */
export function outcomeOf(
  call: CallView,
  timestamp: string,
  found: FoundResult | undefined,
  stage: Stage = "writing",
): Outcome {
  if (found === undefined)
    return { status: endOf(call.status, stage), output: call.output, durationMs: call.durationMs };
  const between = Date.parse(found.timestamp) - Date.parse(timestamp);
  return {
    status: found.result.isError || call.status === "failed" ? "failed" : "done",
    output: found.result.output,
    durationMs: call.durationMs ?? (between > 0 ? between : undefined),
  };
}

/** A finished message does not change by itself: what it calls running was cut off. Only an approval may still come. */
function endOf(status: CallStatus | undefined, stage: Stage): CallStatus | undefined {
  const isOpen = status === "pending" || status === "running" || (status === "asking" && stage === "over");
  return isOpen && stage !== "writing" ? "unended" : status;
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
