import { beforeEach, describe, expect, it } from "vitest";
import type { Call } from "../../../../src/domain/call.js";
import type { Head, HistoryContext } from "../../../../src/storage/history/heads.js";
import { UpdateTimes } from "../../../../src/storage/history/update-times.js";
import { passingDeadline } from "../../../support/call-endings.js";

let written: [string, number][][];
let failures: string[];
let timers: { readonly ms: number; readonly run: () => void }[];
let nowMicros: number;
/** The error that writes of times fail with. */
let fail: Error | null;
/** Whether writes of times end only when they are aborted. */
let hangs: boolean;
let updateTimes: UpdateTimes;
let context: ReturnType<typeof contextOf>;

beforeEach(() => {
  written = [];
  failures = [];
  timers = [];
  nowMicros = 1;
  fail = null;
  hangs = false;
  context = contextOf();
  updateTimes = new UpdateTimes(context as unknown as HistoryContext);
});

function contextOf() {
  return {
    store: {
      async touchRecords(times: ReadonlyMap<string, number>, call?: Call) {
        if (hangs) await new Promise((_, reject) => call?.signal?.addEventListener("abort", reject));
        if (fail) throw fail;
        written.push([...times]);
      },
    },
    options: {
      nowMicros: () => nowMicros,
      touchDelayMs: 1000,
      maxHeads: 2,
      startTimer: (ms: number, run: () => void) => {
        const timer = { ms, run };
        timers.push(timer);
        return () => timers.splice(timers.indexOf(timer), 1);
      },
      onAnomaly: (text: string) => failures.push(text),
    },
  };
}

function headOf(uid: string, updateTimeMicros = 0): Head {
  return { record: { uid, updateTimeMicros } } as Head;
}

function note(uid: string): void {
  updateTimes.note(headOf(uid));
}

/** Runs the only timer, which must have this delay. */
async function elapse(ms: number): Promise<void> {
  expect(timers.map((timer) => timer.ms)).toEqual([ms]);
  timers[0]?.run();
  await updateTimes.flush();
}

it("writes the times of all sessions together after the delay", async () => {
  note("a");
  note("b");
  await elapse(1000);
  expect(written).toEqual([
    [
      ["a", 1],
      ["b", 1],
    ],
  ]);
  expect(timers).toEqual([]);
});

it("keeps times that could not be written, reports them once, and writes them later", async () => {
  fail = new Error("gone");
  note("a");
  await elapse(1000);
  nowMicros = 2;
  note("b");
  await elapse(5000);
  expect(failures).toEqual(["The update time of 1 session could not be written"]);
  fail = null;
  await elapse(5000);
  expect(written).toEqual([
    [
      ["a", 1],
      ["b", 2],
    ],
  ]);
  note("a");
  await elapse(1000);
  expect(written).toHaveLength(2);
});

it("does not replace a newer time with an older one", async () => {
  fail = new Error("gone");
  note("a");
  const failing = updateTimes.flush();
  nowMicros = 7;
  note("a");
  await failing;
  fail = null;
  await updateTimes.flush();
  expect(written).toEqual([[["a", 7]]]);
});

it("reports, when it is closed, the times that were not written by the deadline", async () => {
  note("a");
  note("b");
  fail = new Error("gone");
  await updateTimes.close({ deadlineMs: 0 });
  expect(failures).toEqual(["The update times of 2 sessions could not be written"]);
  expect(timers).toEqual([]);
});

it("reports, when it is closed, unwritten times even if an earlier failure was reported", async () => {
  note("a");
  fail = new Error("gone");
  await updateTimes.flush();
  hangs = true;
  const { call, end } = passingDeadline();
  const closed = updateTimes.close(call);
  await new Promise((resolve) => setImmediate(resolve));
  end();
  await closed;
  expect(failures).toHaveLength(2);
});

it("waits for a write until the deadline when it is closed", async () => {
  note("a");
  hangs = true;
  const { call, end } = passingDeadline();
  const closed = updateTimes.close(call);
  await new Promise((resolve) => setImmediate(resolve));
  expect(failures).toEqual([]);
  end();
  await closed;
  expect(failures).toHaveLength(1);
});

it("writes by its own timer", async () => {
  note("a");
  timers[0]?.run();
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toHaveLength(1);
});

it("keeps no times for a store whose appends write them", () => {
  const { touchRecords: _touchRecords, ...store } = context.store;
  updateTimes = new UpdateTimes({ ...context, store } as unknown as HistoryContext);
  note("a");
  expect(timers).toEqual([]);
});

it("sets no timer when the delay is infinite, and writes when it is flushed", async () => {
  const options = { ...context.options, touchDelayMs: Number.POSITIVE_INFINITY };
  updateTimes = new UpdateTimes({ ...context, options } as unknown as HistoryContext);
  note("a");
  expect(timers).toEqual([]);
  await updateTimes.flush();
  expect(written).toHaveLength(1);
});

describe("a write of times with an append", () => {
  const MINUTE = 60_000_000;

  it("is done only for a time that is more than a minute old", async () => {
    nowMicros = 5 * MINUTE;
    expect(updateTimes.writeOld(headOf("a", 4 * MINUTE), undefined)).toBeUndefined();
    await updateTimes.writeOld(headOf("a", 4 * MINUTE - 1), undefined);
    expect(written).toEqual([[["a", 5 * MINUTE]]]);
  });

  it("is done once in a minute for a time that is more than a minute ahead", async () => {
    nowMicros = 5 * MINUTE;
    expect(updateTimes.writeOld(headOf("a", 6 * MINUTE), undefined)).toBeUndefined();
    await updateTimes.writeOld(headOf("a", 6 * MINUTE + 1), undefined);
    expect(written).toEqual([[["a", 5 * MINUTE]]]);
    expect(updateTimes.writeOld(headOf("a", 9 * MINUTE), undefined)).toBeUndefined();
  });

  it("is not repeated within a minute, even if the head does not show the time that was written", async () => {
    nowMicros = 5 * MINUTE;
    note("a");
    await elapse(1000);
    nowMicros += MINUTE;
    expect(updateTimes.writeOld(headOf("a"), undefined)).toBeUndefined();
    nowMicros += 1;
    expect(updateTimes.writeOld(headOf("a"), undefined)).toBeDefined();
  });

  it("is remembered only for the sessions that were used last", async () => {
    nowMicros = 5 * MINUTE;
    for (const uid of ["a", "b", "c"]) await updateTimes.writeOld(headOf(uid), undefined);
    for (const uid of ["b", "c"]) expect(updateTimes.writeOld(headOf(uid), undefined)).toBeUndefined();
    expect(updateTimes.writeOld(headOf("a"), undefined)).toBeDefined();
  });

  it("does not make the append fail when it fails", async () => {
    nowMicros = 5 * MINUTE;
    fail = new Error("gone");
    await expect(updateTimes.writeOld(headOf("a"), undefined)).resolves.toBeUndefined();
  });
});
