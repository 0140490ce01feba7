import { onTestFinished, vi } from "vitest";
import type { Call } from "../../src/domain/call.js";

export const MINUTE_MS = 60_000;

interface EndingCall<T extends Call = Call> {
  readonly call: T;
  end(): void;
}

/** A call whose deadline passes when the test says so: from here on, the test's clock stands still. */
export function passingDeadline(): EndingCall<{ readonly deadlineMs: number }> {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return { call: { deadlineMs: Date.now() + MINUTE_MS }, end: () => void vi.advanceTimersByTime(MINUTE_MS) };
}

function leavingClient(): EndingCall {
  const gone = new AbortController();
  return { call: { signal: gone.signal }, end: () => gone.abort() };
}

/**
 * The ways in which a call can end early. Each has the code of its error, and a call that a test can end in that way.
 */
export const ENDINGS: readonly (readonly [code: string, start: () => EndingCall])[] = [
  ["deadline_exceeded", passingDeadline],
  ["canceled", leavingClient],
];
