import { describe, expect, it } from "vitest";
import type { RecordBin, SessionRecord } from "../../../src/storage/history/log-store.js";
import { created, replaced } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeBin(subject: LogStoreSubject): void {
  const binIt = (text: string, run: (bin: RecordBin) => Promise<void>) =>
    it(text, async ({ skip }) => {
      const { bin } = subject.store;
      if (bin === undefined) skip("The store keeps no bin");
      else await run(bin);
    });
  const binned = async (
    uid: string,
    sessionId: string,
    deleteTimeMicros: number,
    given: Partial<SessionRecord> = {},
  ) => {
    const living = await created(subject.store, uid, { sessionId, labels: { a: "1" }, ...given });
    const bin = { deleteTimeMicros, purgeTimeMicros: deleteTimeMicros + 100 };
    return replaced(subject.store, living, { deleted: true, bin });
  };
  const revived = (record: SessionRecord, given = {}) => {
    const { forks: _forks, ...next } = record;
    return { ...next, deleted: false, bin: undefined, revision: record.revision + 1, ...given };
  };
  const uids = (records: readonly SessionRecord[]) => records.map(({ uid }) => uid);

  describe("bin", () => {
    binIt("lists tombstones that have times, the newest delete first, by owner, by id and in pages", async (bin) => {
      await created(subject.store, "living");
      await replaced(subject.store, await created(subject.store, "plain"), { deleted: true });
      await binned("u1", "s", 10, { owner: "ada" });
      await binned("u2", "s", 20);
      await binned("u3", "t", 20, { owner: "ada" });
      const last = await binned("u4", "nul\u0000", 30, { owner: "bob" });
      const all = await bin.list({}, { limit: 10 });
      expect(uids(all)).toEqual(["u4", "u3", "u2", "u1"]);
      expect(all[0]).toEqual(last);
      expect(uids(await bin.list({ owner: "ada" }, { limit: 10 }))).toEqual(["u3", "u1"]);
      expect(uids(await bin.list({ owner: "" }, { limit: 10 }))).toEqual(["u2"]);
      expect(uids(await bin.list({ sessionId: "s" }, { limit: 10 }))).toEqual(["u2", "u1"]);
      expect(uids(await bin.list({ sessionId: "nul\u0000" }, { limit: 10 }))).toEqual(["u4"]);
      expect(uids(await bin.list({}, { limit: 2, after: { deleteTimeMicros: 30, sessionId: "nul\u0000" } }))).toEqual([
        "u3",
        "u2",
      ]);
      expect(uids(await bin.list({}, { limit: 9, after: { deleteTimeMicros: 20, sessionId: "t" } }))).toEqual([
        "u2",
        "u1",
      ]);
      const ofAda = { deleteTimeMicros: 20, sessionId: "t" };
      expect(uids(await bin.list({ owner: "ada" }, { limit: 9, after: ofAda }))).toEqual(["u1"]);
      const ofId = { deleteTimeMicros: 20, sessionId: "s" };
      expect(uids(await bin.list({ sessionId: "s" }, { limit: 9, after: ofId }))).toEqual(["u1"]);
      expect(await subject.database.namespace("other").bin?.list({}, { limit: 9 })).toEqual([]);
    });

    binIt("lists what is due, whatever its forks, and lets no sweep have it before", async (bin) => {
      const first = await binned("u1", "s", 10);
      await binned("u2", "t", 20);
      await subject.store.addFork("u2", 1);
      expect(await bin.listDue(109, 10)).toEqual([]);
      expect(uids(await bin.listDue(110, 10))).toEqual(["u1"]);
      expect(uids(await bin.listDue(120, 10))).toEqual(["u1", "u2"]);
      expect(await bin.listDue(120, 1)).toHaveLength(1);
      expect(await subject.store.listSweepable(Date.now() * 2, 10)).toEqual([]);
      await replaced(subject.store, first, { bin: undefined });
      expect(uids(await bin.listDue(120, 10))).toEqual(["u2"]);
      expect(uids(await subject.store.listSweepable(0, 10))).toEqual(["u1"]);
    });

    binIt("revives a tombstone with its stored forks, its labels and its place in lists", async (bin) => {
      const before = await binned("u1", "s", 10, { owner: "ada" });
      await subject.store.addFork("u1", 1);
      const next = revived(before, { title: "back" });
      const stored = await bin.revive(next, before.revision);
      expect(stored).toMatchObject({
        uid: "u1",
        title: "back",
        deleted: false,
        forks: 1,
        revision: before.revision + 1,
      });
      expect(await subject.store.readRecord("s")).toEqual(stored);
      const filter = { parentId: "", labels: ["a=1"], owner: "ada" };
      expect(uids(await subject.store.listRecords(filter, { limit: 10 }))).toEqual(["u1"]);
      expect(await bin.list({}, { limit: 10 })).toEqual([]);
      expect(await bin.revive(next, before.revision)).toBeNull();
    });

    binIt("changes nothing when the id is taken or the revision is another one", async (bin) => {
      const before = await binned("u1", "s", 10);
      await created(subject.store, "u2", { sessionId: "s" });
      expect(await bin.revive(revived(before), before.revision)).toBe("exists");
      expect((await subject.store.readRecord("s"))?.uid).toBe("u2");
      expect(await bin.list({}, { limit: 10 })).toEqual([before]);
      const other = await binned("u3", "t", 10);
      expect(await bin.revive(revived(other), other.revision - 1)).toBeNull();
      expect(await subject.store.readRecord("t")).toBeNull();
    });
  });
}
