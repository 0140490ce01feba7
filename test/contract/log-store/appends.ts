import { beforeEach, describe, expect, it } from "vitest";
import { allComparable, comparable, created, entries, entry, fill, own, replaced, seqs, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeAppends(subject: LogStoreSubject): void {
  describe("append", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("stores one entry, then the next, and returns 1", async () => {
      expect(await subject.store.append("u.1", 1, [entry("u.1", 1)])).toBe(1);
      expect(await subject.store.append("u.1", 2, [entry("u.1", 2)])).toBe(1);
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2]);
    });

    it("stores a batch of 1,000 and returns how many", async () => {
      const batch = await fill(subject.store, "u.1", 1, 1000);
      const range = await subject.store.readRange("u.1", 1, 1000);
      expect(allComparable(range.entries)).toEqual(allComparable(batch));
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 1000 }, state: "open" });
    });

    it("stores a message of 3 MiB", async () => {
      const big = entry("u.1", 1, { parts: [{ id: "", type: "text", text: "x".repeat(3 * 1024 * 1024) }] });
      expect(await subject.store.append("u.1", 1, [big])).toBe(1);
      const range = await subject.store.readRange("u.1", 1, 1);
      expect(range.entries.map((one) => one.body.parts[0]?.text.length)).toEqual([3 * 1024 * 1024]);
    });

    it("returns 0 when the place is taken, and stores nothing", async () => {
      const stored = await fill(subject.store, "u.1", 1, 3);
      expect(await subject.store.append("u.1", 2, [entry("u.1", 2, { id: "other" })])).toBe(0);
      expect(
        await subject.store.append(
          "u.1",
          3,
          entries("u.1", 3, 5, (seq) => ({ id: `other ${seq}` })),
        ),
      ).toBe(0);
      const range = await subject.store.readRange("u.1", 1, 9);
      expect(allComparable(range.entries)).toEqual(allComparable(stored));
      expect(await subject.store.findById(["u.1"], ["other", "other 3", "other 4"])).toEqual([]);
    });

    it("returns idTaken when the place is free but the id is in the log, and stores nothing", async () => {
      const stored = await fill(subject.store, "u.1", 1, 3);
      expect(await subject.store.append("u.1", 4, [entry("u.1", 4, { id: "m2" })])).toBe("idTaken");
      const first = entries("u.1", 4, 5, (seq) => (seq === 4 ? { id: "m1" } : {}));
      expect(await subject.store.append("u.1", 4, first)).toBe("idTaken");
      const range = await subject.store.readRange("u.1", 1, 9);
      expect(allComparable(range.entries)).toEqual(allComparable(stored));
    });

    it("leaves an id of one log free in all others", async () => {
      await fill(subject.store, "u.1", 1, 3);
      await fill(subject.store, "u.2", 1, 3);
      expect(await seqs(subject.store, "u.2", 1, 3)).toEqual([1, 2, 3]);
    });

    it("lets one of many writers win a place", async () => {
      const ids = Array.from({ length: 10 }, (_, i) => `id ${i}`);
      const outcomes = await Promise.all(ids.map((id) => subject.store.append("u.1", 1, [entry("u.1", 1, { id })])));
      expect([...outcomes].sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
      const range = await subject.store.readRange("u.1", 1, 9);
      expect(range.entries.map((one) => one.id)).toEqual([ids[outcomes.indexOf(1)]]);
    });

    it("writes to many logs at once, and one failing append does not fail the others", async () => {
      await fill(subject.store, "u.0", 1, 1);
      const logs = Array.from({ length: 20 }, (_, i) => `u.${i}`);
      await own(subject.store, ...logs);
      const outcomes = await Promise.all(
        logs.map((log, i) =>
          subject.store.append(
            log,
            1,
            entries(log, 1, 1 + (i % 3), (seq) => ({ id: `n${seq}` })),
          ),
        ),
      );
      expect(outcomes).toEqual(logs.map((_, i) => (i === 0 ? 0 : 1 + (i % 3))));
      for (const [i, log] of logs.entries()) {
        expect(await seqs(subject.store, log, 1, 9)).toHaveLength(i === 0 ? 1 : 1 + (i % 3));
      }
    });

    it("never leaves a gap, even when several write at the same time", async () => {
      const writers = Array.from({ length: 4 }, (_, w) => writeBatches(w));
      const accepted = (await Promise.all(writers)).flat();
      const { entries: stored } = await subject.store.readRange("u.1", 1, 1000);
      expect(stored.map((one) => one.seq)).toEqual(stored.map((_, i) => i + 1));
      const ids = stored.map((one) => one.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(accepted.filter((id) => !ids.includes(id))).toEqual([]);
      if (subject.harness.atomicAppend) expect(stored).toHaveLength(accepted.length);
    });

    async function writeBatches(writer: number): Promise<string[]> {
      const accepted: string[] = [];
      for (let round = 0; round < 10; round++) {
        const { entries: stored } = await subject.store.readRange("u.1", 1, 1000);
        const seq = stored.length + 1;
        const batch = entries("u.1", seq, seq + 2, (at) => ({ id: `w${writer} r${round} ${at - seq}` }));
        const outcome = await subject.store.append("u.1", seq, batch);
        expect(outcome).not.toBe("idTaken");
        accepted.push(...batch.slice(0, outcome as number).map((one) => one.id));
      }
      return accepted;
    }

    it("keeps the values it was given, even if the caller changes them later", async () => {
      const part = { id: "p", type: "text", text: "before", data: { list: [1] } };
      const given = entry("u.1", 1, { parts: [part] });
      const before = comparable(given);
      await subject.store.append("u.1", 1, [given]);
      part.text = "after";
      part.data.list.push(2);
      const range = await subject.store.readRange("u.1", 1, 1);
      expect(allComparable(range.entries)).toEqual([before]);
    });

    it("changes only the update time of a record", async () => {
      const before = await created(subject.store, "v", { sessionId: "s" });
      await fill(subject.store, "v.1", 1, 3, () => ({ timestampMicros: T0 + 99 }));
      expect(await subject.store.readRecord("s")).toEqual({ ...before, updateTimeMicros: expect.any(Number) });
    });

    it("stores nothing for a call that has ended", async () => {
      const past = { deadlineMs: Date.now() - 1 };
      await expect(subject.store.append("u.1", 1, [entry("u.1", 1)], past)).rejects.toMatchObject({
        code: "deadline_exceeded",
      });
      const gone = { signal: AbortSignal.abort() };
      await expect(subject.store.append("u.1", 1, [entry("u.1", 1)], gone)).rejects.toMatchObject({ code: "canceled" });
      expect(await seqs(subject.store, "u.1", 1, 1)).toEqual([]);
    });
  });

  describe("append, seal and tail of a store that checks names", () => {
    beforeEach(() => own(subject.store, "u.1"));

    const { append, seal, tail } = {
      append: (log: string) => subject.store.append(log, 1, [entry(log, 1)]),
      seal: (log: string) => subject.store.seal(log),
      tail: async (log: string) => (await subject.store.tail(log)).isNamed,
    };

    it("store an entry and a seal only in a log that the record names", async (context) => {
      if (subject.store.knownTimeMs) context.skip("the store checks appends by its clock, not by names");
      await own(subject.store, "v.1", "v.2");
      for (const log of ["nobody.1", "v.3", "v.", "v", "V.1"]) {
        expect([await append(log), await seal(log), await tail(log)]).toEqual(["unnamed", "unnamed", false]);
        expect(await subject.store.findById([log], ["m1"])).toEqual([]);
        expect(await subject.store.tail(log)).toMatchObject({ last: null, state: "open" });
      }
      for (const log of ["v.1", "v.2"])
        expect([await append(log), await seal(log), await tail(log)]).toEqual([1, 1, true]);
    });

    it("store nothing in a log that the record no longer names", async (context) => {
      if (subject.store.knownTimeMs) context.skip("the store checks appends by its clock, not by names");
      await own(subject.store, "v.1", "v.2");
      const before = await created(subject.store, "w", { namedLogs: [{ log: "w.2", purpose: "copy" }] });
      await replaced(subject.store, before, { log: "w.3", namedLogs: [] });
      for (const log of ["w.1", "w.2"]) {
        expect([await append(log), await seal(log), await tail(log)]).toEqual(["unnamed", "unnamed", false]);
      }
      expect(await append("w.3")).toBe(1);
    });

    it("store nothing in the logs of a tombstone, nor after it is gone", async (context) => {
      if (subject.store.knownTimeMs) context.skip("the store checks appends by its clock, not by names");
      const before = await created(subject.store, "v", { namedLogs: [{ log: "v.2", purpose: "older" }] });
      await replaced(subject.store, before, { deleted: true });
      for (const log of ["v.1", "v.2"]) {
        expect([await append(log), await seal(log), await tail(log)]).toEqual(["unnamed", "unnamed", false]);
      }
      await subject.store.deleteRecord("v");
      expect([await append("v.1"), await seal("v.1"), await tail("v.1")]).toEqual(["unnamed", "unnamed", false]);
      expect(await subject.store.listOrphans(10)).toEqual([]);
    });

    it("store nothing in the logs of another namespace", async (context) => {
      if (subject.store.knownTimeMs) context.skip("the store checks appends by its clock, not by names");
      await created(subject.database.namespace("other"), "v");
      expect([await append("v.1"), await seal("v.1"), await tail("v.1")]).toEqual(["unnamed", "unnamed", false]);
    });
  });

  describe("append of a store with atomic writes", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("stores none unless seq comes right after the last place", async (context) => {
      if (!subject.harness.atomicAppend) context.skip("the store's append is not atomic");
      expect(await subject.store.append("u.1", 2, [entry("u.1", 2)])).toBe(0);
      await fill(subject.store, "u.1", 1, 3);
      expect(await subject.store.append("u.1", 5, [entry("u.1", 5)])).toBe(0);
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2, 3]);
      expect(await subject.store.findById(["u.1"], ["m5"])).toEqual([]);
    });

    it("stores none in a hole that a sweep has left", async (context) => {
      if (!subject.harness.atomicAppend) context.skip("the store's append is not atomic");
      await fill(subject.store, "u.1", 1, 6);
      await subject.store.deleteEntries({ log: "u.1", first: 3, last: 4 }, 10);
      expect(await subject.store.append("u.1", 3, [entry("u.1", 3, { id: "new" })])).toBe(0);
      expect(await subject.store.append("u.1", 7, [entry("u.1", 7)])).toBe(1);
      await subject.store.deleteEntries({ log: "u.1", first: 5, last: 7 }, 10);
      expect(await subject.store.append("u.1", 8, [entry("u.1", 8)])).toBe(0);
      expect(await subject.store.append("u.1", 3, [entry("u.1", 3, { id: "new" })])).toBe(1);
    });

    it("stores all or none of a batch with a taken id", async (context) => {
      if (!subject.harness.atomicAppend) context.skip("the store's append is not atomic");
      await fill(subject.store, "u.1", 1, 3);
      const batch = entries("u.1", 4, 6, (seq) => (seq === 6 ? { id: "m1" } : {}));
      expect(await subject.store.append("u.1", 4, batch)).toBe("idTaken");
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2, 3]);
      expect(await subject.store.findById(["u.1"], ["m4", "m5"])).toEqual([]);
      expect(await subject.store.append("u.1", 4, entries("u.1", 4, 6))).toBe(3);
    });

    it("stores none of a batch that holds an id twice", async (context) => {
      if (!subject.harness.atomicAppend) context.skip("the store's append is not atomic");
      await fill(subject.store, "u.1", 1, 3);
      const batch = entries("u.1", 4, 6, (seq) => (seq === 6 ? { id: "m4" } : {}));
      expect(await subject.store.append("u.1", 4, batch)).toBe("idTaken");
      expect(await seqs(subject.store, "u.1", 1, 9)).toEqual([1, 2, 3]);
      expect(await subject.store.findById(["u.1"], ["m4", "m5"])).toEqual([]);
    });
  });

  describe("append of a store that may stop half way", () => {
    beforeEach(() => own(subject.store, "u.1"));

    it("stores the entries before a taken id, and returns how many", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await fill(subject.store, "u.1", 1, 3);
      const batch = entries("u.1", 4, 6, (seq) => (seq === 6 ? { id: "m1" } : {}));
      const outcome = await subject.store.append("u.1", 4, batch);
      const stored = await seqs(subject.store, "u.1", 4, 9);
      expect(stored).toEqual([4, 5].slice(0, typeof outcome === "number" ? outcome : 0));
    });

    it("stores at most the entries before the second use of an id", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await fill(subject.store, "u.1", 1, 3);
      const batch = entries("u.1", 4, 6, (seq) => (seq === 6 ? { id: "m4" } : {}));
      const outcome = await subject.store.append("u.1", 4, batch);
      const stored = await seqs(subject.store, "u.1", 4, 9);
      expect(stored).toEqual([4, 5].slice(0, typeof outcome === "number" ? outcome : 0));
    });

    it("keeps with each entry how many of its batch follow", async (context) => {
      if (subject.harness.atomicAppend) context.skip("the store's append is atomic");
      await fill(subject.store, "u.1", 1, 3);
      const { entries: stored } = await subject.store.readRange("u.1", 1, 3);
      expect(stored.map((one) => one.remaining)).toEqual([2, 1, 0]);
    });
  });
}
