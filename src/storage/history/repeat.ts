import { setTimeout as sleep } from "node:timers/promises";
import { type Call, checkCall } from "../../domain/call.js";

const FIRST_PAUSE_MS = 20;
const MOST_PAUSE_MS = 500;

export interface RepeatOptions {
  readonly call: Call | undefined;
  /** The most milliseconds that all attempts may take together, unless the call ends sooner. */
  readonly timeoutMs: number;
  /** Whether another attempt may follow one that failed like this. */
  readonly mayRepeat: (error: unknown) => boolean;
  /** Whether an attempt that failed like this has certainly not been carried out. */
  readonly wasRefused: (error: unknown) => boolean;
  /** When it is aborted, no further attempt is made. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Attempts something at a server until it succeeds or may not be repeated, with pauses that grow. `attempt` learns
 * whether an earlier one may have been carried out, or may still be. Rejects with the error of the last attempt.
 */
export async function repeat<T>(
  attempt: (isRepeat: boolean) => Promise<T>,
  { call, timeoutMs, mayRepeat, wasRefused, signal }: RepeatOptions,
): Promise<T> {
  const endMs = Math.min(call?.deadlineMs ?? Number.POSITIVE_INFINITY, Date.now() + timeoutMs);
  let isRepeat = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MOST_PAUSE_MS)) {
    try {
      return await attempt(isRepeat);
    } catch (error) {
      if (!mayRepeat(error) || signal?.aborted || Date.now() + pauseMs >= endMs) throw error;
      isRepeat ||= !wasRefused(error);
      await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      checkCall(call);
    }
  }
}
