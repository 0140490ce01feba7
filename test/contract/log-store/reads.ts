import { describe, expect, it } from "vitest";
import { allComparable, comparable, entry, fill, own, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeReads(subject: LogStoreSubject): void {
  describe("readRange", () => {
    const read = async (first: number, last: number, options: object = {}) => {
      const { entries, cut } = await subject.store.readRange("u.1", first, last, options);
      return { seqs: entries.map((one) => one.seq), cut };
    };

    it("reads both bounds, in either direction", async () => {
      const stored = await fill(subject.store, "u.1", 1, 9);
      const up = await subject.store.readRange("u.1", 3, 6);
      expect(allComparable(up.entries)).toEqual(allComparable(stored.slice(2, 6)));
      const down = await subject.store.readRange("u.1", 3, 6, { descending: true });
      expect(allComparable(down.entries)).toEqual(allComparable(stored.slice(2, 6).reverse()));
      expect([up.cut, down.cut]).toEqual([false, false]);
    });

    it("ends where the log ends, and at a seal", async () => {
      await fill(subject.store, "u.1", 1, 3);
      expect(await read(2, 9)).toEqual({ seqs: [2, 3], cut: false });
      await subject.store.seal("u.1");
      expect(await read(2, 9)).toEqual({ seqs: [2, 3], cut: false });
      expect(await read(4, 9)).toEqual({ seqs: [], cut: false });
    });

    it("returns nothing for an unknown log or an empty range", async () => {
      expect(await read(1, 9)).toEqual({ seqs: [], cut: false });
      await fill(subject.store, "u.1", 1, 3);
      expect(await read(3, 2)).toEqual({ seqs: [], cut: false });
    });

    it("stops at the limit without reporting a cut", async () => {
      await fill(subject.store, "u.1", 1, 9);
      expect(await read(2, 8, { limit: 3 })).toEqual({ seqs: [2, 3, 4], cut: false });
      expect(await read(2, 8, { limit: 3, descending: true })).toEqual({ seqs: [8, 7, 6], cut: false });
      expect(await read(2, 8, { limit: 100 })).toEqual({ seqs: [2, 3, 4, 5, 6, 7, 8], cut: false });
    });

    it("ends at its first gap, in either direction", async () => {
      await fill(subject.store, "u.1", 1, 9);
      await subject.store.deleteEntries({ log: "u.1", first: 4, last: 5 }, 10);
      expect(await read(1, 9)).toEqual({ seqs: [1, 2, 3], cut: false });
      expect(await read(1, 9, { descending: true })).toEqual({ seqs: [9, 8, 7, 6], cut: false });
      expect(await read(4, 9)).toEqual({ seqs: [], cut: false });
      expect(await read(1, 5, { descending: true })).toEqual({ seqs: [], cut: false });
    });

    it("ends after maxBytes, but returns at least one entry", async () => {
      const text = "x".repeat(10_000);
      await fill(subject.store, "u.1", 1, 50, () => ({ parts: [{ id: "", type: "text", text }] }));
      expect(await read(2, 9, { maxBytes: 1 })).toEqual({ seqs: [2], cut: true });
      expect(await read(2, 9, { maxBytes: 1, descending: true })).toEqual({ seqs: [9], cut: true });
      const some = await read(1, 50, { maxBytes: 100_000 });
      expect(some.cut).toBe(true);
      expect(some.seqs.length).toBeGreaterThan(4);
      expect(some.seqs.length).toBeLessThan(20);
      expect(some.seqs).toEqual(some.seqs.map((_, i) => i + 1));
      const down = await read(1, 50, { maxBytes: 100_000, descending: true });
      expect(down.cut).toBe(true);
      expect(down.seqs).toEqual(some.seqs.map((_, i) => 50 - i));
      for (const maxBytes of [10_000_000, Number.POSITIVE_INFINITY]) {
        const all = await read(1, 50, { maxBytes, limit: Number.POSITIVE_INFINITY });
        expect([all.cut, all.seqs.length]).toEqual([false, 50]);
      }
      expect(await read(1, 50, { maxBytes: 1_000_000, limit: 3 })).toEqual({ seqs: [1, 2, 3], cut: false });
    });

    it("counts tiny parts as what they are as JSON", async () => {
      const parts = Array.from({ length: 1000 }, () => ({ id: "", type: "t", text: "" }));
      await fill(subject.store, "u.1", 1, 10, () => ({ parts }));
      const { seqs, cut } = await read(1, 10, { maxBytes: 100_000 });
      expect(cut).toBe(true);
      expect(seqs.length).toBeLessThan(6);
    });

    it("counts large messages against maxBytes before it has read many of them", async () => {
      const text = "x".repeat(1024 * 1024);
      await fill(subject.store, "u.1", 1, 5, () => ({ parts: [{ id: "", type: "text", text }] }));
      expect(await read(1, 5, { maxBytes: 3 * 1024 * 1024 })).toMatchObject({ cut: true });
      expect(await read(5, 5, { maxBytes: 3 })).toEqual({ seqs: [5], cut: false });
    });
  });

  describe("readLast", () => {
    it("returns the last message of each log, whether or not it is sealed", async () => {
      const open = await fill(subject.store, "u1.1", 1, 3);
      const sealed = await fill(subject.store, "u2.1", 1, 2);
      await own(subject.store, "u3.1");
      await subject.store.seal("u2.1");
      await subject.store.seal("u3.1");
      const found = await subject.store.readLast(["u2.1", "u1.1", "u3.1", "nobody.1", "u1.1"]);
      expect(found.map((one) => one && comparable(one))).toEqual(
        [sealed.at(-1), open.at(-1), null, null, open.at(-1)].map((one) => one && comparable(one)),
      );
      expect(await subject.store.readLast([])).toEqual([]);
    });

    it("does not return a message of an incomplete batch", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await fill(subject.store, "u1.1", 1, 2);
      await subject.store.append("u1.1", 3, [entry("u1.1", 3, { remaining: 1 })]);
      expect((await subject.store.readLast(["u1.1"]))[0]?.seq).toBe(2);
    });
  });

  describe("seqAtTime", () => {
    const times = [10, 10, 20, 20, 20, 30, 50, 50];
    const at = (first: number, last: number, micros: number) =>
      subject.store.seqAtTime("u.1", first, last, T0 + micros);
    const fillTimes = () =>
      fill(subject.store, "u.1", 1, times.length, (seq) => ({ timestampMicros: T0 + (times[seq - 1] as number) }));

    it("finds the first message at or after a time, also among ties", async () => {
      await fillTimes();
      for (const micros of [0, 9, 10, 11, 19, 20, 21, 30, 31, 49, 50]) {
        expect(await at(1, 8, micros)).toBe(times.findIndex((time) => time >= micros) + 1);
      }
      expect(await at(1, 8, 51)).toBe(9);
    });

    it("stays inside the range, whatever is around it", async () => {
      await fillTimes();
      expect(await at(4, 6, 0)).toBe(4);
      expect(await at(4, 6, 20)).toBe(4);
      expect(await at(4, 6, 25)).toBe(6);
      expect(await at(4, 6, 31)).toBe(7);
      expect(await at(5, 5, 20)).toBe(5);
      expect(await at(5, 5, 21)).toBe(6);
    });

    it("finds times in the far past and the far future", async () => {
      await fillTimes();
      expect(await at(1, 8, -Number.MAX_SAFE_INTEGER - T0)).toBe(1);
      expect(await at(1, 8, Number.MAX_SAFE_INTEGER - T0)).toBe(9);
    });

    it("finds times before 1970 and at both ends of the range", async () => {
      const ends = [Number.MIN_SAFE_INTEGER, -2, -1, 0, 1, Number.MAX_SAFE_INTEGER];
      await fill(subject.store, "u.1", 1, ends.length, (seq) => ({ timestampMicros: ends[seq - 1] as number }));
      for (const [i, micros] of ends.entries()) {
        expect(await subject.store.seqAtTime("u.1", 1, ends.length, micros)).toBe(i + 1);
      }
      expect(await subject.store.seqAtTime("u.1", 1, ends.length, -3)).toBe(2);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { timestampMicros: Number.MAX_SAFE_INTEGER } });
      const { entries } = await subject.store.readRange("u.1", 1, ends.length);
      expect(entries.map(({ timestampMicros }) => timestampMicros)).toEqual(ends);
    });

    it("returns null when an entry that the answer depends on is missing", async () => {
      expect(await subject.store.seqAtTime("nobody.1", 1, 8, T0)).toBeNull();
      await fillTimes();
      await subject.store.deleteEntries({ log: "u.1", first: 8, last: 8 }, 10);
      expect(await at(1, 8, 51)).toBeNull();
      await subject.store.deleteEntries({ log: "u.1", first: 1, last: 3 }, 10);
      expect(await at(1, 7, 0)).toBeNull();
      expect(await at(1, 7, 10)).toBeNull();
      expect(await at(4, 7, 25)).toBe(6);
      await subject.store.deleteEntries({ uid: "u" }, 10);
      expect(await at(1, 8, 20)).toBeNull();
      expect(await at(5, 4, 20)).toBe(5);
    });

    it("is not misled by other logs, of the same session and of others", async () => {
      await fillTimes();
      await fill(subject.store, "u.2", 1, 20, (seq) => ({ timestampMicros: T0 + seq }));
      await fill(subject.store, "v.1", 1, 20, (seq) => ({ timestampMicros: T0 + seq, sessionId: "other" }));
      expect(await at(1, 8, 15)).toBe(3);
      expect(await at(2, 8, 40)).toBe(7);
    });

    it("works on a range of a log whose other parts are not sorted", async () => {
      const mixed = [90, 5, 10, 20, 1];
      await fill(subject.store, "u.1", 1, 5, (seq) => ({ timestampMicros: T0 + (mixed[seq - 1] as number) }));
      expect(await at(2, 4, 10)).toBe(3);
      expect(await at(2, 4, 21)).toBe(5);
      expect(await at(2, 4, 0)).toBe(2);
    });
  });

  describe("findById", () => {
    it("finds every entry with one of the ids in one of the logs", async () => {
      await fill(subject.store, "u.1", 1, 5);
      await fill(subject.store, "u.2", 1, 3, (seq) => ({ id: seq === 2 ? "m4" : `other ${seq}` }));
      await fill(subject.store, "v.1", 1, 5);
      const found = await subject.store.findById(["u.1", "u.2", "nobody.1"], ["m4", "m2", "none"]);
      expect(found.map((one) => `${one.log} ${one.seq}`).sort()).toEqual(["u.1 2", "u.1 4", "u.2 2"]);
      const [first] = await subject.store.findById(["u.1"], ["m3"]);
      expect(first && allComparable([first])).toEqual(allComparable([entry("u.1", 3)]));
    });

    it("finds nothing without logs or ids", async () => {
      await fill(subject.store, "u.1", 1, 2);
      expect(await subject.store.findById([], ["m1"])).toEqual([]);
      expect(await subject.store.findById(["u.1"], [])).toEqual([]);
    });

    it("returns an entry once even if the log or id is named twice", async () => {
      await fill(subject.store, "u.1", 1, 2);
      expect(await subject.store.findById(["u.1", "u.1"], ["m1", "m1"])).toHaveLength(1);
    });

    it("accepts 1,000 ids and 256 logs", async () => {
      for (let log = 1; log <= 256; log += 51)
        await fill(subject.store, `u.${log}`, 1, 3, (seq) => ({ id: `l${log} ${seq}` }));
      const logs = Array.from({ length: 256 }, (_, i) => `u.${i + 1}`);
      const ids = Array.from({ length: 995 }, (_, i) => `none ${i}`);
      const found = await subject.store.findById(logs, [...ids, "l1 1", "l52 3", "l205 2", "l256 1", "l2 1"]);
      expect(found.map((one) => one.id).sort()).toEqual(["l1 1", "l205 2", "l256 1", "l52 3"]);
    });
  });
}
