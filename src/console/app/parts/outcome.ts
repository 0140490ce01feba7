import type { CallStatus, CallView, Output } from "../../../parts/part-view.js";
import type { FoundResult } from "./call-index.js";

/** Whether a message is still being written, is the newest of its session, or has others after it. */
export type Stage = "writing" | "last" | "over";

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
