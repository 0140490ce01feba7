import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { poll } from "../../support/poll.js";
import { entries, entry, fill, own, seqs, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeSeals(subject: LogStoreSubject): void {
  describe("seal", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("returns the number of messages, and nothing can follow", async () => {
      await fill(subject.store, "u.1", 1, 3);
      expect(await subject.store.seal("u.1")).toBe(3);
      for (const seq of [4, 5]) {
        const outcome = await subject.store.append("u.1", seq, [entry("u.1", seq)]);
        if (seq === 4 || subject.harness.atomicAppend) expect(outcome).toBe(0);
      }
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2, 3]);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 3, id: "m3" }, state: "sealed" });
    });

    it("returns the same again", async () => {
      await fill(subject.store, "u.1", 1, 3);
      expect(await Promise.all([1, 2, 3].map(() => subject.store.seal("u.1")))).toEqual([3, 3, 3]);
      expect(await subject.store.seal("u.1", 3)).toBe(3);
    });

    it("seals a log without entries", async () => {
      expect(await subject.store.seal("u.1")).toBe(0);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "sealed" });
      expect(await subject.store.append("u.1", 1, [entry("u.1", 1)])).toBe(0);
      expect(await subject.store.seal("u.1", 0)).toBe(0);
    });

    it("accepts the last message that the caller knows, even if others have followed", async () => {
      await fill(subject.store, "u.1", 1, 5);
      await fill(subject.store, "u.2", 1, 5);
      expect(await subject.store.seal("u.1", 5)).toBe(5);
      expect(await subject.store.seal("u.2", 2)).toBe(5);
      expect(await seqs(subject.store, "u.2", 1, 9)).toEqual([1, 2, 3, 4, 5]);
    });

    it("leaves other logs of the session open", async () => {
      await fill(subject.store, "u.1", 1, 3);
      await subject.store.seal("u.1");
      await fill(subject.store, "u.10", 1, 3);
      expect(await subject.store.tail("u.10")).toMatchObject({ state: "open" });
    });

    it("is not an entry: no read returns it", async () => {
      await fill(subject.store, "u.1", 1, 3);
      await subject.store.seal("u.1");
      expect(await seqs(subject.store, "u.1", 1, 10)).toEqual([1, 2, 3]);
      expect(await subject.store.findById(["u.1"], ["", "null", "seal", "undefined"])).toEqual([]);
      expect(await subject.store.seqAtTime("u.1", 1, 3, T0 + 100)).toBe(4);
    });

    it("wins against busy appenders, and everything acknowledged to them comes before it", async () => {
      let sealed = false;
      const accepted: number[] = [];
      const appender = async (writer: number) => {
        for (let seq = 1; !sealed; ) {
          const batch = entries("u.1", seq, seq + 9, (at) => ({ id: `w${writer} ${at}` }));
          const outcome = await subject.store.append("u.1", seq, batch);
          if (outcome === batch.length) accepted.push(seq + 9);
          const { last } = await subject.store.tail("u.1");
          seq = (last?.seq ?? 0) + 1;
          await setImmediate();
        }
      };
      const appenders = [appender(1), appender(2)];
      await poll(() => accepted.length > 5, "the writers are busy");
      const count = await subject.store.seal("u.1").finally(() => {
        sealed = true;
      });
      await Promise.all(appenders);
      expect(Math.max(...accepted)).toBeLessThanOrEqual(Number(count));
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: count }, state: "sealed" });
      const stored = await seqs(subject.store, "u.1", 1, Number(count) + 50);
      expect(stored).toEqual(Array.from(stored, (_, i) => i + 1));
      // Where an append may stop half way, the seal may have cut the last batch short. Its remains do not count.
      const left = stored.length - Number(count);
      expect(left).toBeGreaterThanOrEqual(0);
      expect(left).toBeLessThan(subject.harness.atomicAppend ? 1 : 10);
      expect(await subject.store.seal("u.1")).toBe(count);
    });
  });

  describe("tail", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("of an unknown log is empty and open", async () => {
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "open" });
    });

    it("returns the last message", async () => {
      await fill(subject.store, "u.1", 1, 3);
      await fill(subject.store, "u.1", 4, 4, () => ({ id: "last", timestampMicros: T0 - 7 }));
      expect(await subject.store.tail("u.1")).toMatchObject({
        last: { seq: 4, id: "last", timestampMicros: T0 - 7 },
        state: "open",
      });
    });

    it("does not confuse the log with its neighbours", async () => {
      await fill(subject.store, "u.1", 1, 2);
      await fill(subject.store, "u.11", 1, 5);
      await fill(subject.store, "u.", 1, 4);
      await fill(subject.store, "u.2", 1, 3);
      expect((await subject.store.tail("u.1")).last?.seq).toBe(2);
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2]);
    });
  });

  describe("an unfinished batch on a store whose append may stop half way", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("makes the tail unfinished, and is not counted by the seal", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await fill(subject.store, "u.1", 1, 3);
      const half = entries("u.1", 4, 6).slice(0, 2);
      expect(await subject.store.append("u.1", 4, half)).toBe(2);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 3 }, state: "unfinished" });
      expect(await subject.store.seal("u.1", 3)).toBe(3);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 3 }, state: "sealed" });
      expect(await subject.store.seal("u.1")).toBe(3);
    });

    it("at the start of a log leaves the log without a last message", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await subject.store.append("u.1", 1, entries("u.1", 1, 3).slice(0, 2));
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "unfinished" });
      expect(await subject.store.seal("u.1")).toBe(0);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "sealed" });
    });
  });
}
