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

const CLOSE_LIMIT_MS = 5000;

/** What a `close` may take when its caller does not say: 5 s. */
export function closeLimit(call?: Call): { readonly deadlineMs: number } {
  return { deadlineMs: call?.deadlineMs ?? Date.now() + CLOSE_LIMIT_MS };
}

/** Waits for `work`, at most until the deadline. Resolves to whether it has ended by then, and rejects as it does. */
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
