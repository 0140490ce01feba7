import { describe, expect, it } from "vitest";
import type { LogStore, Segment } from "../../../src/storage/history/log-store.js";
import type { LogStoreSubject } from "../log-store.js";
import { created, entry, fill, replaced, seqs } from "./fixtures.js";

/** An age that everything has, though the store's clock tick only now and then. */
const ANY_AGE_MS = -60_000;
const LONG_MS = 60 * 60_000;

export function describeSweeping(subject: LogStoreSubject): void {
  describe("listSweepable", () => {
    it("lists tombstones and records with dropped ranges, and which ranges", async () => {
      await created(subject.store, "living");
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      const after = await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 2, last: 4 }] });
      const found = await subject.store.listSweepable(ANY_AGE_MS, 10);
      expect(found.map((one) => one.record.uid).sort()).toEqual(["cut", "dead"]);
      const ofCut = found.find((one) => one.record.uid === "cut");
      expect(ofCut).toEqual({ record: after, dropped: after.dropped });
      expect(found.find((one) => one.record.uid === "dead")).toMatchObject({ dropped: [] });
      expect(await subject.store.listSweepable(ANY_AGE_MS, 1)).toHaveLength(1);
    });

    it("lists none that a record names as a source", async () => {
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 2, last: 4 }] });
      await subject.store.addFork("dead", 1);
      await subject.store.addFork("cut", 1);
      expect(await subject.store.listSweepable(ANY_AGE_MS, 10)).toEqual([]);
      await subject.store.addFork("dead", -1);
      expect(await subject.store.listSweepable(ANY_AGE_MS, 10)).toMatchObject([{ record: { uid: "dead" } }]);
    });

    it("lists none that is young", async () => {
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 2, last: 4 }] });
      expect(await subject.store.listSweepable(LONG_MS, 10)).toEqual([]);
    });

    it("tells old ranges of a record from young ones", async () => {
      const cut = await created(subject.store, "cut");
      const old = { log: "cut.1", first: 2, last: 4, droppedAtMs: 1_000 };
      const first = await replaced(subject.store, cut, { dropped: [old, { log: "cut.2", first: 1, last: 1 }] });
      expect(await subject.store.listSweepable(LONG_MS, 10)).toEqual([{ record: first, dropped: [old] }]);
      await replaced(subject.store, first, { dropped: [] });
      expect(await subject.store.listSweepable(ANY_AGE_MS, 10)).toEqual([]);
    });

    it("goes by the store's clock", async (context) => {
      const { advance } = subject.harness;
      if (!advance) return context.skip("nobody can move the store's clock");
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      const first = await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 1, last: 1 }] });
      await advance(LONG_MS);
      const both = [...first.dropped, { log: "cut.1", first: 2, last: 2 }];
      const second = await replaced(subject.store, first, { dropped: both });
      const [time1, time2] = second.dropped.map((range) => range.droppedAtMs as number);
      expect((time2 as number) - (time1 as number)).toBeGreaterThanOrEqual(LONG_MS);
      await advance(1_000);
      const found = await subject.store.listSweepable(LONG_MS, 10);
      expect(found.map((one) => one.record.uid).sort()).toEqual(["cut", "dead"]);
      expect(found.find((one) => one.record.uid === "cut")?.dropped).toEqual([second.dropped[0]]);
    });
  });

  describe("deleteEntries", () => {
    it("deletes all logs of a uid, seals too, and no others", async () => {
      await fill(subject.store, "u.1", 1, 5);
      await subject.store.seal("u.1");
      await fill(subject.store, "u.2", 1, 5);
      await fill(subject.store, "u2.1", 1, 2);
      await fill(subject.store, "u-.1", 1, 2);
      await fill(subject.store, "u/.1", 1, 2);
      await fill(subject.store, "t.1", 1, 2);
      await deleteAll(subject.store, { uid: "u" }, 100);
      expect(await subject.store.tail("u.1")).toEqual({ last: null, state: "open" });
      expect(await subject.store.tail("u.2")).toEqual({ last: null, state: "open" });
      expect(await subject.store.findById(["u.1", "u.2"], ["m1", "m5"])).toEqual([]);
      for (const log of ["u2.1", "u-.1", "u/.1", "t.1"]) expect(await seqs(subject.store, log, 1, 9)).toEqual([1, 2]);
    });

    it("deletes a range of one log and nothing beside it", async () => {
      await fill(subject.store, "u.1", 1, 9);
      await fill(subject.store, "u.2", 1, 9);
      await deleteAll(subject.store, { log: "u.1", first: 4, last: 6 }, 100);
      expect(await seqs(subject.store, "u.1", 1, 3)).toEqual([1, 2, 3]);
      expect(await seqs(subject.store, "u.1", 4, 6)).toEqual([]);
      expect(await seqs(subject.store, "u.1", 7, 9)).toEqual([7, 8, 9]);
      expect(await seqs(subject.store, "u.2", 1, 9)).toHaveLength(9);
    });

    it("deletes a seal inside the range", async () => {
      await fill(subject.store, "u.1", 1, 3, () => ({ owed: 0 }));
      await subject.store.seal("u.1");
      await deleteAll(subject.store, { log: "u.1", first: 3, last: 4 }, 100);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 2 }, state: "open" });
      expect(await subject.store.append("u.1", 3, [entry("u.1", 3)])).toBe(1);
    });

    it("goes in chunks and says whether there may be more", async () => {
      await fill(subject.store, "u.1", 1, 10);
      await fill(subject.store, "u.2", 1, 10);
      expect(await subject.store.deleteEntries({ uid: "u" }, 4)).toBe(true);
      expect(await countAll(subject.store, ["u.1", "u.2"])).toBe(16);
      expect(await deleteAll(subject.store, { uid: "u" }, 4)).toBeGreaterThanOrEqual(4);
      expect(await countAll(subject.store, ["u.1", "u.2"])).toBe(0);
      await fill(subject.store, "v.1", 1, 10);
      expect(await subject.store.deleteEntries({ log: "v.1", first: 1, last: 9 }, 4)).toBe(true);
      expect(await countAll(subject.store, ["v.1"])).toBe(6);
      await deleteAll(subject.store, { log: "v.1", first: 1, last: 9 }, 4);
      expect(await seqs(subject.store, "v.1", 10, 10)).toEqual([10]);
    });

    it("answers false when there is nothing", async () => {
      expect(await subject.store.deleteEntries({ uid: "u" }, 10)).toBe(false);
      expect(await subject.store.deleteEntries({ log: "u.1", first: 1, last: 9 }, 10)).toBe(false);
    });
  });

  describe("deleteRecord", () => {
    it("removes a tombstone, and says whether there was one", async () => {
      const living = await created(subject.store, "u1");
      await replaced(subject.store, living, { deleted: true });
      expect(await subject.store.deleteRecord("u1")).toBe(true);
      expect(await subject.store.scanRecords("", 10)).toEqual([]);
      expect(await subject.store.listSweepable(ANY_AGE_MS, 10)).toEqual([]);
      expect(await subject.store.deleteRecord("u1")).toBe(false);
    });

    it("removes no living record, not that of a session id made again either", async () => {
      const living = await created(subject.store, "u1", { sessionId: "s" });
      expect(await subject.store.deleteRecord("u1")).toBe(false);
      await replaced(subject.store, living, { deleted: true });
      const again = await created(subject.store, "u2", { sessionId: "s" });
      expect(await subject.store.deleteRecord("u1")).toBe(true);
      expect(await subject.store.readRecord("s")).toEqual(again);
    });
  });

  describe("listOrphans", () => {
    it("lists uids that own entries and have no record in any namespace", async () => {
      await created(subject.store, "here");
      await created(subject.database.namespace("elsewhere"), "there");
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      for (const log of ["here.1", "there.1", "dead.1"]) await fill(subject.store, log, 1, 3);
      expect(await subject.store.listOrphans(10)).toEqual([]);
      for (const log of ["a.1", "a.2", "her.1", "here2.1", "z.1"]) await fill(subject.store, log, 1, 3);
      expect([...(await subject.store.listOrphans(10))].sort()).toEqual(["a", "her", "here2", "z"]);
      expect(await subject.store.listOrphans(3)).toHaveLength(3);
      await deleteAll(subject.store, { uid: "a" }, 100);
      expect([...(await subject.store.listOrphans(10))].sort()).toEqual(["her", "here2", "z"]);
    });

    it("lists who owns only a seal", async () => {
      await subject.store.seal("a.1");
      expect(await subject.store.listOrphans(10)).toEqual(["a"]);
    });
  });
}

/** Deletes until nothing may be left; answers how many calls that took. */
async function deleteAll(store: LogStore, target: { uid: string } | Segment, limit: number): Promise<number> {
  for (let calls = 1; calls <= 1000; calls++) {
    if (!(await store.deleteEntries(target, limit))) return calls;
  }
  throw new Error("deleteEntries never ends");
}

async function countAll(store: LogStore, logs: string[]): Promise<number> {
  const ids = Array.from({ length: 20 }, (_, i) => `m${i + 1}`);
  return (await store.findById(logs, ids)).length;
}
