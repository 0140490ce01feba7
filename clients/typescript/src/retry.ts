import { Code, ConnectError } from "@connectrpc/connect";
import { withCurrent } from "./conflict-error.js";

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** Timers take longer times, about 25 days and more, for one millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface RetryOptions {
  /** The most times that a call is sent again. */
  readonly retries: number;
  readonly signal?: AbortSignal | undefined;
  /** The time for all attempts together. */
  readonly timeoutMs?: number | undefined;
}

/** Sends a call, and repeats it after transient errors. `attempt` gets the remaining time. */
export async function withRetries<T>(
  { retries, signal, timeoutMs }: RetryOptions,
  attempt: (timeoutMs: number | undefined) => Promise<T>,
): Promise<T> {
  const endMs = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
  for (let failures = 0; ; failures++) {
    try {
      return await attempt(endMs === undefined ? undefined : forTimer(Math.max(1, endMs - Date.now())));
    } catch (thrown) {
      const error = errorOfCall(thrown, signal);
      const delayMs = delayAfter(error, failures);
      const isLate = endMs !== undefined && Date.now() + delayMs >= endMs;
      if (failures >= retries || !isTransient(error) || isLate || signal?.aborted === true) throw error;
      await pause(delayMs, signal);
    }
  }
}

/** What Connect's packages say about an answer that ended before it was complete. */
const INCOMPLETE = /^protocol error: (incomplete envelope|promised \d+ bytes|missing EndStreamResponse|missing status)/;

/**
 * Turns what a call threw into a ConnectError. A lost connection becomes `unavailable`, because the transports report
 * it with codes by which the service means something else: its `aborted`, for example, is a conflict, and becomes a
 * ConflictError.
 */
export function errorOfCall(thrown: unknown, signal: AbortSignal | undefined): ConnectError {
  const error = ConnectError.from(thrown);
  if (signal?.aborted === true || !isLostConnection(error)) return withCurrent(error);
  const { rawMessage, metadata, cause = error } = error;
  return new ConnectError(rawMessage, Code.Unavailable, metadata, undefined, cause);
}

function isLostConnection({ code, rawMessage, cause }: ConnectError): boolean {
  // The caller has not canceled the call, so its HTTP/2 stream was closed together with the connection.
  if (code === Code.Canceled) return true;
  // Errors that the service sent have no cause. fetch reports a connection that ends during an answer by a TypeError.
  if (code === Code.Unknown && cause instanceof TypeError) return true;
  if ((code === Code.Aborted || code === Code.Internal) && isNodeError(cause)) return true;
  return (code === Code.Internal || code === Code.InvalidArgument) && INCOMPLETE.test(rawMessage);
}

/** Whether this is an error of Node.js, such as ECONNRESET. */
function isNodeError(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string";
}

/** Whether the same call may succeed later. An error without a code of the service comes from the connection. */
export function isTransient(error: ConnectError): boolean {
  if (error.code === Code.ResourceExhausted) return error.metadata.has("retry-after");
  return error.code === Code.Unavailable || error.code === Code.DeadlineExceeded || error.code === Code.Unknown;
}

/** The delay doubles after each failure, with a random factor, and is at least what the server asks for. */
export function delayAfter(error: ConnectError, failures: number): number {
  const longestMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  const askedMs = Number(error.metadata.get("retry-after") ?? 0) * 1000;
  const delayMs = Math.max(Number.isFinite(askedMs) ? askedMs : 0, longestMs * (0.5 + Math.random() / 2));
  return forTimer(delayMs) ?? LONGEST_TIMER_MS;
}

/** Returns the time, or undefined when it is so long that there is no need for a timer. */
export function forTimer(timeMs: number): number | undefined {
  return timeMs > LONGEST_TIMER_MS ? undefined : timeMs;
}

/** Resolves after this time, or at once when the signal is aborted. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end);
  });
}
