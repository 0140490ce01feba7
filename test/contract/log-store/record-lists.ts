import { beforeEach, describe, expect, it } from "vitest";
import type { LogStore, RecordFilter, SessionRecord } from "../../../src/storage/history/log-store.js";
import { created, entry, ODD_TEXTS, record, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeRecordLists(subject: LogStoreSubject): void {
  const having = (...labels: string[]) => ({ parentId: "", labels });
  const labeled = async (...labels: string[]) =>
    uidsOf(await subject.store.listRecords(having(...labels), { limit: 100 }));
  const owned = async (owner: string, ...labels: string[]) =>
    uidsOf(await subject.store.listRecords({ parentId: "", labels, owner }, { limit: 100 }));

  describe("listRecords", () => {
    it("lists living records, most recently updated first", async () => {
      await created(subject.store, "u1", { updateTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { updateTimeMicros: T0 + 3 });
      await created(subject.store, "u3", { updateTimeMicros: T0 + 2 });
      const gone = await created(subject.store, "u4", { updateTimeMicros: T0 + 4 });
      await replaced(subject.store, gone, { deleted: true });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u2", "u3", "u1"]);
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 2 }))).toEqual(["u2", "u3"]);
    });

    it("returns whole records", async () => {
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
      expect(await pagedUids(subject.store, { parentId: "parent" }, 1)).toEqual(["u3", "u2"]);
      expect(await subject.store.listRecords({ parentId: "nobody" }, { limit: 10 })).toEqual([]);
    });

    it("lists only records with the label, in their current state, most recently updated first", async () => {
      const [a, b] = [{ a: "1" }, { a: "1", b: "" }];
      const first = await created(subject.store, "u1", { labels: a, updateTimeMicros: T0 + 1 });
      const second = await created(subject.store, "u2", { labels: b, updateTimeMicros: T0 + 3 });
      await created(subject.store, "u3", { labels: { a: "2" }, updateTimeMicros: T0 + 2 });
      await created(subject.store, "u4", { updateTimeMicros: T0 + 4 });
      expect(await subject.store.listRecords(having("a=1"), { limit: 10 })).toEqual([second, first]);
      expect(await labeled("a=2")).toEqual(["u3"]);
      expect(await labeled("b=")).toEqual(["u2"]);
      for (const nobodys of ["a=", "a", "=1", "A=1", "a=1 ", "c=1"]) expect(await labeled(nobodys)).toEqual([]);
      const moved = await replaced(subject.store, first, { updateTimeMicros: T0 + 5 });
      expect(await labeled("a=1")).toEqual(["u1", "u2"]);
      await replaced(subject.store, moved, { labels: { c: "1" } });
      expect(await labeled("a=1")).toEqual(["u2"]);
      expect(await labeled("c=1")).toEqual(["u1"]);
      await replaced(subject.store, second, { labels: undefined });
      expect([...(await labeled("a=1")), ...(await labeled("b="))]).toEqual([]);
    });

    it("lists only living records with the label", async () => {
      const given = { labels: { a: "1" }, sessionId: "s" };
      const dead = await replaced(subject.store, await created(subject.store, "u1", given), { deleted: true });
      expect(await labeled("a=1")).toEqual([]);
      await subject.store.createRecord(record("u2", { ...given, deleted: true, restoring: true }));
      expect(await labeled("a=1")).toEqual([]);
      expect(await subject.store.publishRecord(record("u2", given))).toBe("published");
      expect(await labeled("a=1")).toEqual(["u2"]);
      await subject.store.deleteRecord(dead.uid);
      expect(await labeled("a=1")).toEqual(["u2"]);
    });

    it("lists only records with all of several labels, and of the parent", async () => {
      const labels = { a: "1", b: "2" };
      await created(subject.store, "u1", { labels, parentId: "p", updateTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { labels: { a: "1" }, parentId: "p", updateTimeMicros: T0 + 2 });
      await created(subject.store, "u3", { labels, updateTimeMicros: T0 + 3 });
      expect(await labeled("a=1", "b=2")).toEqual(["u3", "u1"]);
      expect(await labeled("b=2", "a=1")).toEqual(["u3", "u1"]);
      expect(await labeled("b=2", "a=1", "b=2")).toEqual(["u3", "u1"]);
      expect(await labeled("a=1", "b=3")).toEqual([]);
      expect(await labeled("a=1", "b=2", "a=1")).toEqual(["u3", "u1"]);
      expect(await labeled("b=2", "b=2")).toEqual(["u3", "u1"]);
      const ofParent = { parentId: "p", labels: ["a=1"] };
      expect(uidsOf(await subject.store.listRecords(ofParent, { limit: 10 }))).toEqual(["u2", "u1"]);
      expect(uidsOf(await subject.store.listRecords({ ...ofParent, labels: ["a=1", "b=2"] }, { limit: 10 }))).toEqual([
        "u1",
      ]);
    });

    it("lists only records of the owner, or without one, in their current state", async () => {
      const [ada, bob, nobody] = ["ada", "bob", ""];
      const first = await created(subject.store, "u1", { owner: ada, updateTimeMicros: T0 + 1 });
      const second = await created(subject.store, "u2", { owner: ada, updateTimeMicros: T0 + 3 });
      const bobs = await created(subject.store, "u3", { owner: bob, updateTimeMicros: T0 + 2 });
      const free = await created(subject.store, "u4", { updateTimeMicros: T0 + 4 });
      expect(await subject.store.listRecords({ parentId: "", owner: ada }, { limit: 10 })).toEqual([second, first]);
      expect(await owned(bob)).toEqual([bobs.uid]);
      expect(await owned(nobody)).toEqual([free.uid]);
      for (const other of ["Ada", "ada ", "ad", "a", "null"]) expect(await owned(other)).toEqual([]);
      expect(await pagedUids(subject.store, { owner: ada }, 1)).toEqual(["u2", "u1"]);
      const given = await replaced(subject.store, free, { owner: ada });
      expect([await owned(ada), await owned(nobody)]).toEqual([["u4", "u2", "u1"], []]);
      await replaced(subject.store, given, { owner: undefined });
      expect([await owned(ada), await owned(nobody)]).toEqual([["u2", "u1"], ["u4"]]);
      await replaced(subject.store, first, { owner: bob, updateTimeMicros: T0 + 9 });
      expect([await owned(ada), await owned(bob)]).toEqual([["u2"], ["u1", "u3"]]);
    });

    it("lists only living records of the owner", async () => {
      const given = { owner: "ada", labels: { a: "1" }, sessionId: "s" };
      const lists = async () => [await owned("ada"), await owned("ada", "a=1")];
      const dead = await created(subject.store, "u1", given);
      expect(await lists()).toEqual([["u1"], ["u1"]]);
      await replaced(subject.store, dead, { deleted: true });
      expect(await lists()).toEqual([[], []]);
      await subject.store.createRecord(record("u2", { ...given, deleted: true, restoring: true }));
      expect(await lists()).toEqual([[], []]);
      expect(await subject.store.publishRecord(record("u2", given))).toBe("published");
      expect(await lists()).toEqual([["u2"], ["u2"]]);
      await subject.store.deleteRecord(dead.uid);
      expect(await lists()).toEqual([["u2"], ["u2"]]);
    });

    it("lists only records of the owner with all of the labels, and of the parent", async () => {
      const labels = { a: "1", b: "2" };
      await created(subject.store, "u1", { owner: "ada", labels, parentId: "p", updateTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { owner: "ada", labels: { a: "1" }, updateTimeMicros: T0 + 2 });
      await created(subject.store, "u3", { owner: "bob", labels, parentId: "p", updateTimeMicros: T0 + 3 });
      const free = await created(subject.store, "u4", { labels, parentId: "p", updateTimeMicros: T0 + 4 });
      await created(subject.store, "u5", { owner: "ada", parentId: "p", updateTimeMicros: T0 + 5 });
      const ofParent = async (owner: string, ...texts: string[]) =>
        uidsOf(await subject.store.listRecords({ parentId: "p", labels: texts, owner }, { limit: 10 }));
      expect(await owned("ada", "a=1")).toEqual(["u2", "u1"]);
      expect(await owned("ada", "b=2", "a=1")).toEqual(["u1"]);
      expect(await owned("bob", "a=1")).toEqual(["u3"]);
      expect(await owned("", "a=1")).toEqual(["u4"]);
      expect(await owned("", "a=1", "b=2")).toEqual(["u4"]);
      expect(await owned("ada", "a=2")).toEqual([]);
      expect([await ofParent("ada"), await ofParent("bob"), await ofParent("")]).toEqual([
        ["u5", "u1"],
        ["u3"],
        ["u4"],
      ]);
      expect(await ofParent("ada", "a=1")).toEqual(["u1"]);
      expect(await ofParent("ada", "a=1", "b=2")).toEqual(["u1"]);
      await replaced(subject.store, free, { owner: "ada" });
      expect([await owned("", "a=1"), await owned("ada", "a=1")]).toEqual([[], ["u4", "u2", "u1"]]);
      expect([await ofParent(""), await ofParent("ada")]).toEqual([[], ["u5", "u4", "u1"]]);
    });

    it("returns every record of an owner exactly once over all pages, whatever its name", async () => {
      for (const [i, owner] of ["", ...ODD_TEXTS, ...ODD_TEXTS].entries()) {
        const more = { owner: owner || undefined, labels: { all: "" }, parentId: "p", updateTimeMicros: T0 };
        await created(subject.store, `u${String(i).padStart(2, "0")}`, more);
      }
      for (const owner of ["", ...ODD_TEXTS]) {
        const wanted = owner === "" ? 1 : 2;
        for (const filter of [{ owner }, { owner, labels: ["all="] }, { owner, parentId: "p" }]) {
          const uids = await pagedUids(subject.store, filter, 1);
          expect([owner, uids.length, new Set(uids).size]).toEqual([owner, wanted, wanted]);
        }
        const [found] = await subject.store.listRecords({ parentId: "", owner }, { limit: 1 });
        expect(found?.owner ?? "").toBe(owner);
      }
    });

    it("returns every record with labels exactly once over all pages, whatever their texts", async () => {
      for (const [i, text] of ODD_TEXTS.entries()) {
        const labels = Object.fromEntries([
          [text, text],
          ["all", ""],
          ["half", `${i % 2}`],
        ]);
        await created(subject.store, `u${String(i).padStart(2, "0")}`, {
          labels,
          updateTimeMicros: T0 + Math.trunc(i / 4),
        });
      }
      const whole = await labeled("all=");
      expect(whole).toHaveLength(ODD_TEXTS.length);
      const half = await labeled("all=", "half=1");
      expect(half).toEqual(whole.filter((uid) => Number(uid.slice(1)) % 2 === 1));
      for (const limit of [1, 3, ODD_TEXTS.length]) {
        expect(await pagedUids(subject.store, { labels: ["all="] }, limit)).toEqual(whole);
        expect(await pagedUids(subject.store, { labels: ["all=", "half=1"] }, limit)).toEqual(half);
      }
      for (const [i, text] of ODD_TEXTS.entries()) {
        const [found] = await subject.store.listRecords(having(`${text}=${text}`), { limit: 10 });
        expect(found?.uid).toBe(`u${String(i).padStart(2, "0")}`);
        expect(found?.labels?.[text]).toBe(text);
      }
    });

    it("returns every record exactly once over all pages, even with equal times and odd ids", async () => {
      const ids = ["a", "b", "B", "\u00E9", "\uFF5E", "\u{1F600}", "a.b", "$a", "aa", "~", "0"];
      for (const [i, sessionId] of ids.entries()) {
        await created(subject.store, `u${i}`, { sessionId, updateTimeMicros: T0 + Math.trunc(i / 4) });
      }
      const whole = await subject.store.listRecords({ parentId: "" }, { limit: 100 });
      const times = whole.map((one) => one.updateTimeMicros);
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect(new Set(uidsOf(whole)).size).toBe(ids.length);
      for (const limit of [1, 2, 3, 11]) expect(await pagedUids(subject.store, {}, limit)).toEqual(uidsOf(whole));
    });

    it("orders records with equal times by id, descending", async () => {
      for (const id of ["b", "a", "c"]) await created(subject.store, `u-${id}`, { sessionId: id });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u-c", "u-b", "u-a"]);
    });

    it("continues after a place whose record is gone or was updated", async () => {
      const all = [];
      for (let i = 1; i <= 4; i++) all.push(await created(subject.store, `u${i}`, { updateTimeMicros: T0 + i }));
      const [page] = await subject.store.listRecords({ parentId: "" }, { limit: 1 });
      expect(page?.uid).toBe("u4");
      await replaced(subject.store, all[3] as SessionRecord, { deleted: true });
      await replaced(subject.store, all[1] as SessionRecord, { updateTimeMicros: T0 + 9 });
      const rest = await subject.store.listRecords({ parentId: "" }, { limit: 10, after: page as SessionRecord });
      expect(uidsOf(rest)).toEqual(["u3", "u1"]);
    });
  });

  describe("listExpired", () => {
    const expired = async (expireTimeMicros: number, limit = 10, updateTimeMicros?: number) =>
      uidsOf(await subject.store.listExpired({ expireTimeMicros, updateTimeMicros }, limit));

    it("lists exactly the living records whose expiry time has passed", async () => {
      const first = await created(subject.store, "u1", { expireTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { expireTimeMicros: T0 + 2 });
      await created(subject.store, "u3");
      const dead = await created(subject.store, "u4", { expireTimeMicros: T0 });
      await replaced(subject.store, dead, { deleted: true });
      await created(subject.store, "u5", { expireTimeMicros: -5 });
      expect(await subject.store.readRecordByUid("u1")).toMatchObject({ expireTimeMicros: T0 + 1 });
      expect((await expired(T0 + 1)).sort()).toEqual(["u1", "u5"]);
      expect((await expired(T0 + 2)).sort()).toEqual(["u1", "u2", "u5"]);
      expect(await expired(T0 + 2, 2)).toHaveLength(2);
      expect(await expired(-6)).toEqual([]);
      await replaced(subject.store, first, { expireTimeMicros: undefined });
      expect(await expired(T0 + 1)).toEqual(["u5"]);
      expect(await subject.store.readRecordByUid("u1")).not.toMatchObject({ expireTimeMicros: T0 + 1 });
    });

    it("also lists records that were not updated since a time, when asked to", async () => {
      await created(subject.store, "u1", { updateTimeMicros: T0 + 1 });
      await created(subject.store, "u2", { updateTimeMicros: T0 + 2 });
      await created(subject.store, "u3", { updateTimeMicros: T0 + 9, expireTimeMicros: T0 });
      expect((await expired(T0, 10, T0 + 1)).sort()).toEqual(["u1", "u3"]);
      expect(await expired(T0, 10)).toEqual(["u3"]);
      // What has expired in both ways is listed once.
      expect((await expired(T0, 10, T0 + 9)).sort()).toEqual(["u1", "u2", "u3"]);
      expect(new Set(await expired(T0, 2, T0 + 9)).size).toBe(2);
      expect(await expired(T0, 1, T0 + 9)).toHaveLength(1);
    });
  });

  describe("the update time of a session that is appended to", () => {
    beforeEach((context) => {
      context.skip(subject.store.touchRecords !== undefined, "this store's append does not move update times");
    });

    const append = async (seq: number) => {
      expect(await subject.store.append("u1.1", seq, [entry("u1.1", seq)])).toBe(1);
      return ((await subject.store.scanRecords("", 1)) as [SessionRecord])[0];
    };

    it("becomes the store's time when it is more than a second old, without changing the revision", async () => {
      await created(subject.store, "u1", { updateTimeMicros: T0 });
      const beforeMs = await subject.store.timeMs();
      const { updateTimeMicros, revision } = await append(1);
      expect(updateTimeMicros).toBeGreaterThanOrEqual(Math.floor(beforeMs) * 1000);
      expect(updateTimeMicros).toBeLessThanOrEqual(Math.ceil((await subject.store.timeMs()) + 1) * 1000);
      expect(revision).toBe(0);
    });

    it("stays for a second and moves after it", async (context) => {
      if (subject.harness.hasOwnClock) return context.skip("nobody can move the store's clock");
      await created(subject.store, "u1", { updateTimeMicros: T0 });
      const { updateTimeMicros } = await append(1);
      subject.advance(1000);
      expect((await append(2)).updateTimeMicros).toBe(updateTimeMicros);
      subject.advance(1);
      expect((await append(3)).updateTimeMicros).toBe(updateTimeMicros + 1_001_000);
    });

    it("moves in lists of its labels and of its owner, too", async () => {
      const given = { owner: "ada", labels: { a: "1" } };
      await created(subject.store, "u1", { ...given, updateTimeMicros: T0 });
      await created(subject.store, "u2", { ...given, updateTimeMicros: T0 + 1 });
      const lists = async () => [await labeled("a=1"), await owned("ada"), await owned("ada", "a=1")];
      expect(await lists()).toEqual(Array(3).fill(["u2", "u1"]));
      await append(1);
      expect(await lists()).toEqual(Array(3).fill(["u1", "u2"]));
      expect(await pagedUids(subject.store, { labels: ["a=1"] }, 1)).toEqual(["u1", "u2"]);
    });

    it("does not move when nothing was appended", async () => {
      await created(subject.store, "u1", { updateTimeMicros: T0 });
      expect(await subject.store.append("u1.1", 7, [entry("u1.1", 7)])).toBe(0);
      expect(await subject.store.scanRecords("", 1)).toMatchObject([{ updateTimeMicros: T0 }]);
    });

    it("is not lowered by a caller who read the record before", async () => {
      const before = await created(subject.store, "u1", { updateTimeMicros: T0 });
      const { updateTimeMicros } = await append(1);
      expect(await replaced(subject.store, before, { title: "t" })).toMatchObject({ title: "t", updateTimeMicros });
      expect(await subject.store.scanRecords("", 1)).toMatchObject([{ updateTimeMicros }]);
    });

    it("does not change in a tombstone", async () => {
      const dead = await replaced(subject.store, await created(subject.store, "u1"), { deleted: true });
      await subject.store.append("u1.1", 1, [entry("u1.1", 1)]);
      expect(await subject.store.scanRecords("", 10)).toEqual([dead]);
    });
  });

  describe("touchRecords", () => {
    beforeEach((context) => {
      context.skip(subject.store.touchRecords === undefined, "this store's append moves the update time itself");
    });

    it("raises update times, never lowers one, and never changes the revision", async () => {
      await created(subject.store, "u1", { sessionId: "a", updateTimeMicros: T0 });
      await created(subject.store, "u2", { sessionId: "b", updateTimeMicros: T0 });
      await created(subject.store, "u3", { sessionId: "c", updateTimeMicros: T0 });
      await subject.store.touchRecords?.(
        new Map([
          ["u1", T0 + 5],
          ["u2", T0 - 5],
          ["unknown", T0 + 9],
        ]),
      );
      expect(await subject.store.readRecord("a")).toMatchObject({ updateTimeMicros: T0 + 5, revision: 0 });
      expect(await subject.store.readRecord("b")).toMatchObject({ updateTimeMicros: T0, revision: 0 });
      expect(uidsOf(await subject.store.listRecords({ parentId: "" }, { limit: 10 }))).toEqual(["u1", "u3", "u2"]);
      expect(await subject.store.readRecordByUid("unknown")).toBeNull();
    });

    it("is not undone by a caller who read the record before", async () => {
      const before = await created(subject.store, "u1", { labels: { a: "1" }, updateTimeMicros: T0 });
      await subject.store.touchRecords?.(new Map([["u1", T0 + 5]]));
      const after = { title: "t", updateTimeMicros: T0 + 5 };
      expect(await replaced(subject.store, before, { title: "t" })).toMatchObject(after);
      expect(await subject.store.scanRecords("", 1)).toMatchObject([after]);
    });

    it("moves records in lists of their labels and owners, too", async () => {
      const given = { owner: "ada", labels: { a: "1" } };
      await created(subject.store, "u1", { ...given, updateTimeMicros: T0 });
      await created(subject.store, "u2", { ...given, updateTimeMicros: T0 + 1 });
      await subject.store.touchRecords?.(new Map([["u1", T0 + 5]]));
      expect([await owned("ada"), await owned("ada", "a=1")]).toEqual(Array(2).fill(["u1", "u2"]));
      expect(await pagedUids(subject.store, { labels: ["a=1"] }, 1)).toEqual(["u1", "u2"]);
    });

    it("leaves tombstones alone and accepts an empty map", async () => {
      const living = await created(subject.store, "u1");
      const dead = await replaced(subject.store, living, { deleted: true });
      await subject.store.touchRecords?.(new Map([["u1", T0 + 5]]));
      await subject.store.touchRecords?.(new Map());
      expect(await subject.store.scanRecords("", 10)).toEqual([dead]);
    });
  });

  describe("scanRecords", () => {
    it("lists all records, including tombstones, by uid and page", async () => {
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

async function pagedUids(store: LogStore, filter: Partial<RecordFilter>, limit: number): Promise<string[]> {
  const found: SessionRecord[] = [];
  for (let pages = 1; pages <= 1000; pages++) {
    const page = await store.listRecords({ parentId: "", ...filter }, { limit, after: found.at(-1) });
    found.push(...page);
    if (page.length < limit) return uidsOf(found);
  }
  throw new Error("listRecords never ends");
}
