import { DomainError } from "./errors.js";

/** What a caller allows: how long, and whether it still wants the answer. Passed down to the store unchanged. */
export interface Call {
  /** Milliseconds since 1970 at which the call ends with `deadline_exceeded`. */
  readonly deadlineMs?: number | undefined;
  /** Aborted when the caller has gone: the call ends with `canceled`. */
  readonly signal?: AbortSignal | undefined;
}

/** Throws `deadline_exceeded` or `canceled` if the call has ended. Every loop of retries asks this. */
export function checkCall(call: Call | undefined, nowMs: number = Date.now()): void {
  if (call?.signal?.aborted) {
    const { reason } = call.signal;
    throw reason instanceof DomainError ? reason : new DomainError("canceled", "The call was canceled");
  }
  if (call?.deadlineMs !== undefined && nowMs >= call.deadlineMs) {
    throw new DomainError("deadline_exceeded", "The deadline has passed");
  }
}
