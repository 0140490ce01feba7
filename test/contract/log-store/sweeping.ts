import { describe, expect, it } from "vitest";
import type { LogStore, Segment, SessionRecord } from "../../../src/storage/history/log-store.js";
import { created, disown, entry, fill, fillOrphaned, own, replaced, seqs } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const LONG_MS = 60 * 60_000;

export function describeSweeping(subject: LogStoreSubject): void {
  describe("listSweepable", () => {
    const listed = async (untilMs: number, limit = 10) =>
      (await subject.store.listSweepable(untilMs, limit)).map(({ uid }) => uid);

    it("lists tombstones, dropped ranges and copies without a mark, and nothing else", async () => {
      await created(subject.store, "living", { namedLogs: [{ log: "living.2", purpose: "older" }] });
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      const after = await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 2, last: 4 }] });
      await created(subject.store, "copying", { namedLogs: [{ log: "copying.2", purpose: "copy" }] });
      expect((await listed(0)).sort()).toEqual(["copying", "cut", "dead"]);
      expect((await subject.store.listSweepable(0, 10)).find(({ uid }) => uid === "cut")).toEqual(after);
      expect(await subject.store.listSweepable(0, 1)).toHaveLength(1);
      await replaced(subject.store, after, { dropped: [] });
      expect((await listed(0)).sort()).toEqual(["copying", "dead"]);
    });

    it("lists marked records from the time of their earliest mark, earliest first", async () => {
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true, markedAtMs: 2_000 });
      const marks = [3_000, 1_000].map((markedAtMs, i) => ({ log: "cut.1", first: i + 2, last: i + 2, markedAtMs }));
      const cut = await replaced(subject.store, await created(subject.store, "cut"), { dropped: marks });
      await created(subject.store, "copying", {
        namedLogs: [{ log: "copying.2", purpose: "copy", markedAtMs: 1_500 }],
      });
      expect(await listed(999)).toEqual([]);
      expect(await listed(1_000)).toEqual(["cut"]);
      expect(await listed(2_000)).toEqual(["cut", "copying", "dead"]);
      expect(await listed(2_000, 2)).toEqual(["cut", "copying"]);
      await replaced(subject.store, cut, { dropped: [...marks, { log: "cut.1", first: 9, last: 9 }] });
      expect(await listed(0)).toEqual(["cut"]);
    });

    it("lists no record that others name as a source", async () => {
      const dead = await created(subject.store, "dead");
      await replaced(subject.store, dead, { deleted: true });
      const cut = await created(subject.store, "cut");
      await replaced(subject.store, cut, { dropped: [{ log: "cut.1", first: 2, last: 4 }] });
      await subject.store.addFork("dead", 1);
      await subject.store.addFork("cut", 1);
      expect(await listed(0)).toEqual([]);
      await subject.store.addFork("dead", -1);
      expect(await listed(0)).toEqual(["dead"]);
    });
  });

  describe("listDrafting", () => {
    const draft = (log: string, more = {}) => ({
      log,
      messageId: `message of ${log}`,
      timestampMicros: null,
      discardWhenAbandoned: true,
      ...more,
    });
    const listed = async (afterUid: string, limit = 10) =>
      (await subject.store.listDrafting(afterUid, limit)).map(({ uid }) => uid);

    it("lists living records that name drafts, open or ended, by uid, including those with forks", async () => {
      const open = await created(subject.store, "b", { drafts: [draft("b.2", { timestampMicros: -5 })] });
      const ended = await created(subject.store, "a", { drafts: [draft("a.2", { end: "finished", markedAtMs: 7 })] });
      await created(subject.store, "none");
      const dead = await created(subject.store, "dead", { drafts: [draft("dead.2")] });
      await replaced(subject.store, dead, { deleted: true });
      await created(subject.database.namespace("other"), "c", { drafts: [draft("c.2")] });
      await subject.store.addFork("b", 1);
      expect(await subject.store.listDrafting("", 10)).toEqual([ended, { ...open, forks: 1 }]);
      expect(await listed("", 1)).toEqual(["a"]);
      expect(await listed("a", 1)).toEqual(["b"]);
      expect(await listed("b")).toEqual([]);
      await replaced(subject.store, { ...open, forks: 1 }, { drafts: [] });
      expect(await listed("")).toEqual(["a"]);
    });

    it("agrees with append, which accepts the log of an open draft but not of an ended one", async (context) => {
      if (subject.store.knownTimeMs) context.skip("the store checks appends by its clock, not by names");
      const before = await created(subject.store, "u", { drafts: [draft("u.2"), draft("u.3")] });
      expect(await subject.store.append("u.2", 1, [entry("u.2", 1)])).toBe(1);
      await replaced(subject.store, before, { drafts: [draft("u.2", { end: "discarded" }), draft("u.3")] });
      expect(await subject.store.append("u.2", 2, [entry("u.2", 2)])).toBe("unnamed");
      expect(await subject.store.append("u.3", 1, [entry("u.3", 1)])).toBe(1);
    });
  });

  describe("timeMs", () => {
    it("never goes back", async () => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push(await subject.store.timeMs());
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });

    it("follows the store's clock", async (context) => {
      if (subject.harness.hasOwnClock) return context.skip("nobody can move the store's clock");
      const beforeMs = await subject.store.timeMs();
      subject.advance(LONG_MS);
      expect((await subject.store.timeMs()) - beforeMs).toBeGreaterThanOrEqual(LONG_MS);
    });

    it("is not earlier than the time that any answer has carried", async (context) => {
      if (!subject.store.knownTimeMs) return context.skip("the store checks names");
      const before = subject.store.knownTimeMs();
      await created(subject.store, "u");
      const after = subject.store.knownTimeMs();
      expect(after).toBeGreaterThanOrEqual(before);
    });
  });

  describe("deleteEntries", () => {
    it("deletes all logs of a uid, including seals, and no others", async () => {
      await fill(subject.store, "u.1", 1, 5);
      await subject.store.seal("u.1");
      await fill(subject.store, "u.2", 1, 5);
      await fill(subject.store, "u2.1", 1, 2);
      await fill(subject.store, "u-.1", 1, 2);
      await fill(subject.store, "u/.1", 1, 2);
      await fill(subject.store, "t.1", 1, 2);
      await deleteAll(subject.store, { uid: "u" }, 100);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "open" });
      expect(await subject.store.tail("u.2")).toMatchObject({ last: null, state: "open" });
      expect(await subject.store.findById(["u.1", "u.2"], ["m1", "m5"])).toEqual([]);
      for (const log of ["u2.1", "u-.1", "u/.1", "t.1"]) expect(await seqs(subject.store, log, 1, 9)).toEqual([1, 2]);
    });

    it("deletes a range of one log and nothing else", async () => {
      await fill(subject.store, "u.1", 1, 9);
      await fill(subject.store, "u.2", 1, 9);
      await deleteAll(subject.store, { log: "u.1", first: 4, last: 6 }, 100);
      expect(await seqs(subject.store, "u.1", 1, 3)).toEqual([1, 2, 3]);
      expect(await seqs(subject.store, "u.1", 4, 6)).toEqual([]);
      expect(await seqs(subject.store, "u.1", 7, 9)).toEqual([7, 8, 9]);
      expect(await seqs(subject.store, "u.2", 1, 9)).toHaveLength(9);
    });

    it("deletes a seal inside the range", async () => {
      await fill(subject.store, "u.1", 1, 3, () => ({ remaining: 0 }));
      await subject.store.seal("u.1");
      await deleteAll(subject.store, { log: "u.1", first: 3, last: 4 }, 100);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 2 }, state: "open" });
      expect(await subject.store.append("u.1", 3, [entry("u.1", 3)])).toBe(1);
    });

    it("works in chunks and says whether there may be more", async () => {
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

    it("returns false when there is nothing to delete", async () => {
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
      expect(await subject.store.listSweepable(0, 10)).toEqual([]);
      expect(await subject.store.deleteRecord("u1")).toBe(false);
    });

    it("removes no living record, not even one of a session made again under the id", async () => {
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
      await fill(subject.store, "here.1", 1, 3);
      await fill(subject.database.namespace("elsewhere"), "there.1", 1, 3);
      await fill(subject.store, "dead.1", 1, 3);
      const dead = (await subject.store.readRecordByUid("dead")) as SessionRecord;
      await replaced(subject.store, dead, { deleted: true });
      expect(await subject.store.listOrphans(10)).toEqual([]);
      await fill(subject.store, "a.2", 1, 3);
      for (const log of ["a.1", "her.1", "here2.1", "z.1"]) await fillOrphaned(subject.store, log);
      expect([...(await subject.store.listOrphans(10))].sort()).toEqual(["a", "her", "here2", "z"]);
      expect(await subject.store.listOrphans(3)).toHaveLength(3);
      await deleteAll(subject.store, { uid: "a" }, 100);
      expect([...(await subject.store.listOrphans(10))].sort()).toEqual(["her", "here2", "z"]);
    });

    it("lists uids that own only a seal", async () => {
      await own(subject.store, "a.1");
      await subject.store.seal("a.1");
      await disown(subject.store, "a");
      expect(await subject.store.listOrphans(10)).toEqual(["a"]);
    });
  });
}

/** Deletes until a call reports that nothing is left. Resolves to the number of calls. */
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
