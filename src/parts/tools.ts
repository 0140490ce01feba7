import { errorLine } from "./lines.js";
import type { Json, JsonObject, Part } from "./part.js";
import type { CallStatus, CallView, Output, ResultView } from "./part-view.js";
import { viewsOfParts } from "./recognise.js";

/** A call of a tool. */
export interface ToolCall {
  /** Empty if the part has none. */
  readonly callId: string;
  readonly name: string;
  readonly input: Json | undefined;
  /** Absent when the part does not say; the result then does. */
  readonly status: CallStatus | undefined;
  /** Present where a format keeps a call and its output in one part. */
  readonly output: Output | undefined;
  /** The reason in one line, of a call that failed; otherwise empty. */
  readonly error: string;
}

/** The result of a call, which may be in another message. */
export interface ToolResult {
  readonly callId: string;
  /** Empty if the result does not name the tool. */
  readonly name: string;
  readonly output: Output;
  readonly hasFailed: boolean;
  /** The reason in one line, of a result that says that its call failed; otherwise empty. */
  readonly error: string;
}

/** Returns the calls and results in a message with these parts and metadata, both in the order of the parts. */
export function toolsOf(
  parts: readonly Part[],
  metadata?: JsonObject,
): { readonly calls: readonly ToolCall[]; readonly results: readonly ToolResult[] } {
  const views = viewsOfParts(parts, metadata);
  return {
    calls: views.filter((view) => view.kind === "call").map(callOf),
    results: views.filter((view) => view.kind === "result").map(resultOf),
  };
}

/**
 * Returns the reason of the first call of a tool that failed in a message, in one line of at most 300 characters, or
 * an empty string if none failed. `failed` stands for a failure that gives no reason.
 */
export function toolErrorOf(parts: readonly Part[], metadata?: JsonObject): string {
  for (const view of viewsOfParts(parts, metadata)) {
    if ((view.kind === "call" || view.kind === "result") && hasFailed(view)) return errorLine(view.output) || "failed";
  }
  return "";
}

/** Returns the text of an output, as a tool wrote it or as JSON; empty for pictures alone. */
export function outputText({ text, json }: Output): string {
  return text ?? (json === undefined ? "" : JSON.stringify(json));
}

function callOf(view: CallView): ToolCall {
  const { callId, name, args, status, output } = view;
  return { callId, name, input: args, status, output, error: hasFailed(view) ? errorLine(output) : "" };
}

function resultOf(view: ResultView): ToolResult {
  const { callId, name, output, isError } = view;
  return { callId, name, output, hasFailed: isError, error: isError ? errorLine(output) : "" };
}

function hasFailed(view: CallView | ResultView): boolean {
  return view.kind === "result" ? view.isError : view.status === "failed";
}
