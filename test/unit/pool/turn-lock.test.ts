import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TurnLock } from "../../../src/pool/turn-lock.js";
import { ENDINGS, MINUTE_MS } from "../../support/call-endings.js";

describe("TurnLock", () => {
  it("lets one caller at a time change a session, in the order of their calls", async () => {
    const lock = new TurnLock();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await setImmediate();
      log.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all(["a", "b", "c"].map((name) => lock.run("s", undefined, work(name))));
    expect(results).toEqual(["a", "b", "c"]);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("lets different sessions be changed at the same time", async () => {
    const lock = new TurnLock();
    const release = await lock.acquire("s");
    expect(await lock.run("t", undefined, async () => "done")).toBe("done");
    release();
  });

  it("gives callers with the same access one turn at a time, whoever else changes the session", async () => {
    const lock = new TurnLock();
    const [ada, bob] = [{ access: { owner: "ada" } }, { access: { owner: "bob" } }];
    const ticket = { access: { ticket: { sessionId: "s", uid: "u", generation: 0 } } };
    const release = await lock.acquire("s", ada);
    for (const call of [bob, ticket, undefined]) expect(await lock.run("s", call, async () => "done")).toBe("done");
    const order: string[] = [];
    const second = lock.run("s", { access: { owner: "ada" } }, async () => order.push("second"));
    await setImmediate();
    order.push("first");
    release();
    await second;
    expect(order).toEqual(["first", "second"]);
  });

  it("keeps nothing for idle sessions, even when the work fails", async () => {
    const lock = new TurnLock();
    const failing = lock.run("s", undefined, () => Promise.reject(new Error("failed")));
    const next = lock.run("s", undefined, async () => lock.size);
    await expect(failing).rejects.toThrow("failed");
    expect(await next).toBe(1);
    await lock.run("t", undefined, async () => {});
    expect([lock.size, lock.isLocked("s")]).toEqual([0, false]);
  });

  it.each(ENDINGS)("ends waiting with %s, never runs the work, and passes the turn on", async (code, start) => {
    const { call, end } = start();
    const lock = new TurnLock();
    const release = await lock.acquire("s");
    let isDone = false;
    const impatient = lock.run("s", call, async () => {
      isDone = true;
    });
    const patient = lock.run("s", { deadlineMs: Date.now() + 2 * MINUTE_MS }, async () => "done");
    end();
    await expect(impatient).rejects.toMatchObject({ code });
    release();
    expect(await patient).toBe("done");
    expect([isDone, lock.size]).toEqual([false, 0]);
  });

  it("refuses a call that has ended, and leaves no lock", async () => {
    const lock = new TurnLock();
    const signal = AbortSignal.abort();
    await expect(lock.run("s", { signal }, async () => {})).rejects.toMatchObject({ code: "canceled" });
    await expect(lock.run("s", { deadlineMs: 0 }, async () => {})).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(lock.size).toBe(0);
  });

  it("waits even when the deadline is too far ahead for a timer", async () => {
    const lock = new TurnLock();
    const release = await lock.acquire("s");
    const patient = lock.run("s", { deadlineMs: Date.now() + 1e12 }, async () => "done");
    await setImmediate();
    release();
    expect(await patient).toBe("done");
  });

  it("leaves no listener on a signal that outlives the wait", async () => {
    const lock = new TurnLock();
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    const release = await lock.acquire("s");
    const waiting = lock.run("s", { signal }, async () => {});
    await setImmediate();
    expect(listeners).toBe(1);
    release();
    await waiting;
    expect(listeners).toBe(0);
  });
});
