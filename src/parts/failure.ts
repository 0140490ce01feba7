import { errorLine, firstLine } from "./lines.js";
import type { Message } from "./part.js";
import type { PartView } from "./part-view.js";
import { viewsOf } from "./recognise.js";

export interface Failure {
  /** The name of the tool; empty when the message reports an error of its own. */
  readonly name: string;
  readonly reason: string;
}

/** The newest failure in messages that are ordered newest first. */
export function failureIn(newestFirst: readonly Message[]): Failure | undefined {
  const views = newestFirst.flatMap((message) => [...viewsOf(message)].reverse());
  for (const view of views) {
    if (view.kind === "error") return { name: "", reason: firstLine(view.text, 300) };
    if (view.kind === "call" && view.status === "failed") return { name: view.name, reason: errorLine(view.output) };
    if (view.kind === "result" && view.isError) {
      return { name: view.name || callOf(views, view.callId) || "tool", reason: errorLine(view.output) };
    }
  }
  return undefined;
}

function callOf(views: readonly PartView[], callId: string): string | undefined {
  const call = views.find((view) => view.kind === "call" && view.callId === callId);
  return call?.kind === "call" ? call.name : undefined;
}
