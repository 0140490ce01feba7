import { describe, expect, it } from "vitest";
import type { Call } from "../../../../../src/domain/call.js";
import { type Job, jobOf, PendingJobs } from "../../../../../src/storage/history/append/append-job.js";
import { resolveHistoryOptions } from "../../../../../src/storage/history/history-options.js";

const LATER_MS = Date.now() + 1_000_000;

describe("the call that limits a write for several appends", () => {
  const callOf = (...calls: readonly (Call | undefined)[]) => {
    const jobs: Job[] = calls.map((call, index) => ({ index, given: [], expectedPosition: undefined, call }));
    return new PendingJobs(jobs, []).call;
  };

  it("is that of the append itself when there is only one", () => {
    const call = { deadlineMs: LATER_MS, signal: new AbortController().signal };
    expect(callOf(call)).toBe(call);
    expect(callOf(undefined)).toBeUndefined();
  });

  it("has the latest deadline and no signal", () => {
    const { signal } = new AbortController();
    expect(
      callOf({ deadlineMs: LATER_MS, signal }, { deadlineMs: LATER_MS + 2 }, { deadlineMs: LATER_MS + 1 }),
    ).toEqual({
      deadlineMs: LATER_MS + 2,
    });
  });

  it("has no deadline when one of the appends has none", () => {
    expect(callOf({ deadlineMs: LATER_MS }, {})).toBeUndefined();
    expect(callOf({ deadlineMs: LATER_MS }, undefined)).toBeUndefined();
  });
});

it("a message that is too far ahead is refused with the limit in seconds", () => {
  const options = resolveHistoryOptions({ nowMicros: () => 0 });
  const append = { messages: [{ role: "user", parts: [], timestampMicros: Number.MAX_SAFE_INTEGER }] };
  const limit = options.limits.futureMs / 1000;
  expect(() => jobOf(append, 0, options)).toThrow(`timestamp is more than ${limit} s ahead of the service's clock`);
});
