import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withinStallTime } from "../../../../src/server/limits/stall.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a write to a client", () => {
  const never = new AbortController().signal;

  it("ends when its completion is reported", async () => {
    await expect(withinStallTime((done) => done(), never)).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails when the reader takes nothing for half a minute", async () => {
    const write = withinStallTime(() => undefined, never);
    const failed = expect(write).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await vi.advanceTimersByTimeAsync(30_000);
    await failed;
  });

  it("fails when the client disconnects, or had already disconnected", async () => {
    const gone = new AbortController();
    const failed = expect(withinStallTime(() => undefined, gone.signal)).rejects.toMatchObject({ code: Code.Canceled });
    gone.abort();
    await failed;
    await expect(withinStallTime(() => undefined, gone.signal)).rejects.toMatchObject({ code: Code.Canceled });
    expect(vi.getTimerCount()).toBe(0);
  });
});
