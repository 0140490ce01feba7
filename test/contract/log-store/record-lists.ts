import { describe, expect, it } from "vitest";
import type { LogStore, SessionRecord } from "../../../src/storage/history/log-store.js";
import type { LogStoreSubject } from "../log-store.js";
import { created, replaced, T0 } from "./fixtures.js";

export function describeRecordLists(subject: LogStoreSubject): void {
  describe("listRecords", () => {
    it("lists living records, newest update first", async () => {
      await created(subject.store, "u1", { updateTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { updateTimeMicros: T0 + 3 });
      await created(subject.store, "u3", { updateTimeMicros: T0 + 2 });
      const gone = await created(subject.store, "u4", { updateTimeMicros: T0 + 4 });
      await replaced(subject.store, gone, { deleted: true });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u2", "u3", "u1"]);
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 2 }))).toEqual(["u2", "u3"]);
    });

    it("answers whole records", async () => {
      const one = await created(subject.store, "u1", {
        metadata: { a: 1 },
        segments: [{ log: "u0.1", first: 1, last: 2 }],
      });
      expect(await subject.store.listRecords({ parentId: "" }, { limit: 10 })).toEqual([one]);
    });

    it("lists only children of the parent", async () => {
      await created(subject.store, "u1", { sessionId: "parent" });
      await created(subject.store, "u2", { parentId: "parent", updateTimeMicros: T0 + 1 });
      await created(subject.store, "u3", { parentId: "parent", updateTimeMicros: T0 + 2 });
      await created(subject.store, "u4", { parentId: "parent2" });
      expect(uidsOf(await subject.store.listRecords({ parentId: "parent" }, { limit: 10 }))).toEqual(["u3", "u2"]);
      expect(await pagedUids(subject.store, "parent", 1)).toEqual(["u3", "u2"]);
      expect(await subject.store.listRecords({ parentId: "nobody" }, { limit: 10 })).toEqual([]);
    });

    it("gives every record once by pages, ties of the time and odd ids too", async () => {
      const ids = ["a", "b", "B", "\u00E9", "\uFF5E", "\u{1F600}", "a.b", "$a", "aa", "~", "0"];
      for (const [i, sessionId] of ids.entries()) {
        await created(subject.store, `u${i}`, { sessionId, updateTimeMicros: T0 + Math.trunc(i / 4) });
      }
      const whole = await subject.store.listRecords({ parentId: "" }, { limit: 100 });
      const times = whole.map((one) => one.updateTimeMicros);
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect(new Set(uidsOf(whole)).size).toBe(ids.length);
      for (const limit of [1, 2, 3, 11]) expect(await pagedUids(subject.store, "", limit)).toEqual(uidsOf(whole));
    });

    it("orders ids that differ in ASCII descending", async () => {
      for (const id of ["b", "a", "c"]) await created(subject.store, `u-${id}`, { sessionId: id });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u-c", "u-b", "u-a"]);
    });

    it("goes on behind a place whose record is gone or was updated", async () => {
      const all = [];
      for (let i = 1; i <= 4; i++) all.push(await created(subject.store, `u${i}`, { updateTimeMicros: T0 + i }));
      const [page] = await subject.store.listRecords({ parentId: "" }, { limit: 1 });
      expect(page?.uid).toBe("u4");
      await replaced(subject.store, all[3] as SessionRecord, { deleted: true });
      await subject.store.touchRecords(new Map([["u2", T0 + 9]]));
      const rest = await subject.store.listRecords({ parentId: "" }, { limit: 10, after: page as SessionRecord });
      expect(uidsOf(rest)).toEqual(["u3", "u1"]);
    });
  });

  describe("touchRecords", () => {
    it("raises update times, never lowers one, never touches the revision", async () => {
      await created(subject.store, "u1", { sessionId: "a", updateTimeMicros: T0 });
      await created(subject.store, "u2", { sessionId: "b", updateTimeMicros: T0 });
      await created(subject.store, "u3", { sessionId: "c", updateTimeMicros: T0 });
      await subject.store.touchRecords(
        new Map([
          ["u1", T0 + 5],
          ["u2", T0 - 5],
          ["unknown", T0 + 9],
        ]),
      );
      expect(await subject.store.readRecord("a")).toMatchObject({ updateTimeMicros: T0 + 5, revision: 0 });
      expect(await subject.store.readRecord("b")).toMatchObject({ updateTimeMicros: T0, revision: 0 });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u1", "u3", "u2"]);
      expect(await subject.store.addFork("unknown", 0)).toBe(false);
    });

    it("leaves tombstones alone and takes an empty map", async () => {
      const living = await created(subject.store, "u1");
      const dead = await replaced(subject.store, living, { deleted: true });
      await subject.store.touchRecords(new Map([["u1", T0 + 5]]));
      await subject.store.touchRecords(new Map());
      expect(await subject.store.scanRecords("", 10)).toEqual([dead]);
    });
  });

  describe("scanRecords", () => {
    it("lists all records, tombstones too, by uid and page", async () => {
      for (const uid of ["c", "a", "d", "b"]) await created(subject.store, uid);
      await replaced(subject.store, (await subject.store.readRecord("session of b")) as SessionRecord, {
        deleted: true,
      });
      expect(uidsOf(await subject.store.scanRecords("", 3))).toEqual(["a", "b", "c"]);
      expect(uidsOf(await subject.store.scanRecords("c", 3))).toEqual(["d"]);
      expect(await subject.store.scanRecords("d", 3)).toEqual([]);
    });
  });
}

function uidsOf(records: readonly SessionRecord[]): string[] {
  return records.map((one) => one.uid);
}

async function pagedUids(store: LogStore, parentId: string, limit: number): Promise<string[]> {
  const found: SessionRecord[] = [];
  for (;;) {
    const page = await store.listRecords({ parentId }, { limit, after: found.at(-1) });
    found.push(...page);
    if (page.length < limit) return uidsOf(found);
  }
}
