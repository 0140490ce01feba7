import { describe, expect, it } from "vitest";
import { ByteCounts } from "../../../../src/storage/history/byte-counts.js";
import { resolveHistoryOptions } from "../../../../src/storage/history/history-options.js";
import type { LogStore } from "../../../../src/storage/history/log-store.js";

/** Counts on a store that only adds, and timers that the test runs. */
function countsOn(addBytes: LogStore["addBytes"]) {
  const timers: { readonly ms: number; readonly work: () => void }[] = [];
  const anomalies: string[] = [];
  const options = resolveHistoryOptions({
    startTimer: (ms, work) => {
      timers.push({ ms, work });
      return () => timers.splice(0);
    },
    onAnomaly: (text) => anomalies.push(text),
  });
  return { counts: new ByteCounts({ addBytes } as LogStore, options), timers, anomalies };
}

describe("the counts of bytes", () => {
  it("are written together a second after the first was noted", async () => {
    const written: object[] = [];
    const { counts, timers } = countsOn(async (bytes) => void written.push(Object.fromEntries(bytes)));
    for (const [uid, bytes] of [
      ["a", 1],
      ["b", 5],
      ["a", 2],
      ["b", -5],
    ] as const)
      counts.note({ uid }, bytes);
    expect(timers.map(({ ms }) => ms)).toEqual([1000]);
    timers[0]?.work();
    await counts.flush();
    expect(written).toEqual([{ a: 3, b: 0 }]);
    counts.note({ uid: "a" }, 4);
    await counts.close({ deadlineMs: Date.now() + 1000 });
    expect(written).toEqual([{ a: 3, b: 0 }, { a: 4 }]);
  });

  it("stay noted while they cannot be written, which is reported once", async () => {
    const written: object[] = [];
    let isDown = true;
    const { counts, timers, anomalies } = countsOn(async (bytes) => {
      if (isDown) throw new Error("down");
      written.push(Object.fromEntries(bytes));
    });
    for (let i = 1; i <= 3; i++) {
      counts.note({ uid: "a" }, i);
      await counts.flush();
    }
    expect(anomalies).toEqual(["The bytes of 1 session could not be counted; sweep --repair counts them anew"]);
    expect(timers.map(({ ms }) => ms)).toEqual([5000]);
    isDown = false;
    await counts.flush();
    expect(written).toEqual([{ a: 6 }]);
  });

  it("that are still noted when the deadline of closing has passed are reported", async () => {
    const { counts, anomalies } = countsOn(
      (_bytes, call) => new Promise((_done, fail) => call?.signal?.addEventListener("abort", () => fail(new Error()))),
    );
    counts.note({ uid: "a" }, 1);
    counts.note({ uid: "b" }, 1);
    await counts.close({ deadlineMs: Date.now() });
    expect(anomalies).toEqual(["The bytes of 2 sessions could not be counted; sweep --repair counts them anew"]);
  });
});
