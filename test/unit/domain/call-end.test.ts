import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { LONGEST_TIMER_MS, onCallEnd, untilCallEnd } from "../../../src/domain/call-end.js";
import { DomainError } from "../../../src/domain/errors.js";
import { ENDINGS } from "../../support/call-endings.js";

const never = new Promise<never>(() => {});

describe("untilCallEnd", () => {
  it.each(ENDINGS)("rejects with %s when the call ends first", async (code, start) => {
    const { call, end } = start();
    const ended = untilCallEnd(never, call);
    end();
    await expect(ended).rejects.toMatchObject({ code });
  });

  it.each([
    ["deadline_exceeded", { deadlineMs: Date.now() - 5 }],
    ["canceled", { signal: AbortSignal.abort() }],
    ["unavailable", { signal: AbortSignal.abort(new DomainError("unavailable", "stopping")) }],
  ])("rejects with %s when the call has ended already", async (code, call) => {
    await expect(untilCallEnd(never, call)).rejects.toMatchObject({ code });
  });

  it.each([{}, { deadlineMs: Date.now() + 60_000 }, { deadlineMs: Number.MAX_SAFE_INTEGER }])(
    "settles as the promise does when that comes first",
    async (call) => {
      const answer = new DomainError("not_found", "no");
      expect(await untilCallEnd(Promise.resolve(1), call)).toBe(1);
      await expect(untilCallEnd(Promise.reject(answer), call)).rejects.toBe(answer);
    },
  );
});

it.each(ENDINGS)("onCallEnd does not report %s after it was stopped", async (_code, start) => {
  const { call, end } = start();
  const told: unknown[] = [];
  onCallEnd(call, (error) => told.push(error))();
  onCallEnd({ signal: AbortSignal.abort() }, (error) => told.push(error))();
  end();
  await setImmediate();
  expect(told).toEqual([]);
});

it("onCallEnd reports an end that is further away than a timer of Node reaches, and waits for none that never comes", () => {
  vi.useFakeTimers();
  const told: unknown[] = [];
  onCallEnd({ deadlineMs: Date.now() + 2.5 * LONGEST_TIMER_MS }, (error) => told.push(error));
  const stop = onCallEnd({ deadlineMs: Date.now() + 2.5 * LONGEST_TIMER_MS }, () => told.push("stopped"));
  onCallEnd({ deadlineMs: Number.POSITIVE_INFINITY }, () => told.push("never"));
  vi.advanceTimersByTime(2.4 * LONGEST_TIMER_MS);
  expect(told).toEqual([]);
  stop();
  vi.advanceTimersByTime(LONGEST_TIMER_MS);
  expect(told).toMatchObject([{ code: "deadline_exceeded" }]);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
