import type { Call } from "./call.js";
import { checkCall } from "./call.js";

/** The longest delay of a timer. Node treats a longer one as 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Calls `ended` once, with the error, when the call ends. If the call has ended already, `ended` is called after this
 * function has returned. Returns a function that stops watching.
 */
export function onCallEnd(call: Call | undefined, ended: (error: unknown) => void): () => void {
  const { signal, deadlineMs } = call ?? {};
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  };
  const endAt = (nowMs: number) => {
    stop();
    ended(errorOf(call, nowMs));
  };
  const wait = (untilMs: number) => {
    const leftMs = Math.max(0, untilMs - Date.now());
    if (leftMs <= LONGEST_TIMER_MS) timer = setTimeout(endAt, leftMs, untilMs);
    else timer = setTimeout(wait, LONGEST_TIMER_MS, untilMs);
  };
  const onAbort = () => endAt(Number.NEGATIVE_INFINITY);
  if (signal?.aborted) queueMicrotask(() => !isStopped && onAbort());
  else signal?.addEventListener("abort", onAbort);
  if (deadlineMs !== undefined && deadlineMs < Number.POSITIVE_INFINITY) wait(deadlineMs);
  return stop;
}

/** Settles as the promise does, or rejects with the call's error if the call ends first. */
export function untilCallEnd<T>(promise: Promise<T>, call: Call | undefined): Promise<T> {
  if (call?.signal === undefined && call?.deadlineMs === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = onCallEnd(call, reject);
    promise.then(resolve, reject).finally(stop);
  });
}

function errorOf(call: Call | undefined, nowMs: number): unknown {
  try {
    checkCall(call, nowMs);
  } catch (error) {
    return error;
  }
  return undefined;
}
