import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import type { ServerLimits } from "../../config/config.js";
import { onCallEnd } from "../../domain/call-end.js";

/** How long a client may leave an answer unread. */
export const STALL_MS = 30_000;

/**
 * How long the body of an upload may pause. The limits of time hold for pauses, because its length is up to its size.
 */
export function longestPauseMs({ bodyTimeoutMs, unaryDeadlineMs }: ServerLimits): number {
  return Math.min(bodyTimeoutMs, unaryDeadlineMs);
}

/** Resolves when `write` reports that it is done; `resource_exhausted` when the reader takes nothing or has gone. */
export function withinStallTime(write: (done: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      stopWatching();
      settle();
    };
    const onStall = () => end(() => reject(new ApiError(Code.ResourceExhausted, "The reader does not keep up")));
    const timer = setTimeout(onStall, STALL_MS);
    const stopWatching = onCallEnd({ signal }, (error) => end(() => reject(toApiError(error))));
    if (!signal.aborted) write(() => end(resolve));
  });
}
