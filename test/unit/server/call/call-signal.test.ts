import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { onCallEnd } from "../../../../src/domain/call-end.js";
import { CallSignal } from "../../../../src/server/call/call-signal.js";

const REASON = new Error("The client has gone");

describe("the signal of a call", () => {
  it("calls each listener once, with the first reason", () => {
    const signal = new CallSignal();
    const told: unknown[] = [];
    signal.addEventListener("abort", () => told.push(signal.reason));
    signal.throwIfAborted();
    signal.abort(REASON);
    signal.abort(new Error("again"));
    expect([signal.aborted, told]).toEqual([true, [REASON]]);
    expect(() => signal.throwIfAborted()).toThrow(REASON);
  });

  it("does not call a listener that was removed", () => {
    const signal = new CallSignal();
    const told: unknown[] = [];
    onCallEnd({ signal }, (error) => told.push(error))();
    signal.abort(REASON);
    expect(told).toEqual([]);
  });

  it("is accepted by Node's timers and events", async () => {
    const signal = new CallSignal();
    const waiting = [sleep(60_000, undefined, { signal }), once(new EventEmitter(), "never", { signal })];
    signal.abort(REASON);
    for (const outcome of await Promise.allSettled(waiting)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "AbortError", cause: REASON } });
    }
    await expect(sleep(60_000, undefined, { signal })).rejects.toThrow("aborted");
  });

  it("may have any number of listeners without a warning", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const signal = new CallSignal();
    for (let i = 0; i < 100; i++) signal.addEventListener("abort", () => i);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });
});
