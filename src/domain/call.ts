import type { Access } from "./access.js";
import { DomainError } from "./errors.js";

/** How long a caller waits, and whether it still wants the answer. Passed down to the store unchanged. */
export interface Call {
  /** Milliseconds since 1970 at which the call ends with `deadline_exceeded`. */
  readonly deadlineMs?: number | undefined;
  /** Aborted when the caller has gone: the call ends with `canceled`. */
  readonly signal?: AbortSignal | undefined;
  /** The name of the caller's key, towards whose quotas the sessions count that it makes. */
  readonly key?: string | undefined;
  /** What the caller may see; all sessions when absent. */
  readonly access?: Access | undefined;
}

/** Throws `deadline_exceeded` or `canceled` if the call has ended. Every retry loop calls this. */
export function checkCall(call: Call | undefined, nowMs: number = Date.now()): void {
  if (call?.signal?.aborted) {
    const { reason } = call.signal;
    throw reason instanceof DomainError ? reason : new DomainError("canceled", "The call was canceled");
  }
  if (call?.deadlineMs !== undefined && nowMs >= call.deadlineMs) {
    throw new DomainError("deadline_exceeded", "The deadline has passed");
  }
}

/** The same call by a caller who sees everything, for what the service itself has to know. */
export function withoutAccess(call: Call | undefined): Call | undefined {
  return call?.access === undefined ? call : { deadlineMs: call.deadlineMs, signal: call.signal, key: call.key };
}

const CLOSE_LIMIT_MS = 5000;

/** The time that a `close` may take when its caller sets no limit: 5 s. */
export function closeLimit(call?: Call): { readonly deadlineMs: number } {
  return { deadlineMs: call?.deadlineMs ?? Date.now() + CLOSE_LIMIT_MS };
}

/**
 * Waits for `work` until the deadline at most. Resolves to whether it has ended by then; rejects if it rejects before
 * that.
 */
export async function endsBy(deadlineMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadlineMs - Date.now()));
  });
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
