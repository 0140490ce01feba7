import { describe, expect, it } from "vitest";
import { created, fill, next, record, replaced, seqs, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const NAMES = ["a", "A", "a.b", "$a", "__proto__", "a/b", "\u{1F600}", "a b"];

export function describeNamespaces(subject: LogStoreSubject): void {
  describe("namespaces", () => {
    it("keep records, ids and todos apart", async () => {
      for (const name of NAMES) {
        const store = subject.database.namespace(name);
        await created(store, `uid of ${name}`, { sessionId: "s", title: name });
        await store.replaceTodos([{ id: name, content: "", status: "", priority: "" }], 0);
      }
      for (const name of NAMES) {
        const store = subject.database.namespace(name);
        expect(await store.readRecord("s")).toMatchObject({ uid: `uid of ${name}`, title: name });
        expect(await store.listRecords({ parentId: "" }, { limit: 100 })).toHaveLength(1);
        expect(await store.scanRecords("", 100)).toHaveLength(1);
        expect(await store.readTodos()).toMatchObject({ todos: [{ id: name }], revision: 1 });
      }
    });

    it("cannot change anything of another namespace", async () => {
      const { store } = subject;
      const other = subject.database.namespace("other");
      const before = await created(store, "u1", { sessionId: "s" });
      expect(await other.replaceRecord(next(before, { title: "stolen" }), 0)).toBeNull();
      expect(await other.addFork("u1", 1)).toBe(false);
      expect(await other.readRecordByUid("u1")).toBeNull();
      await other.touchRecords?.(new Map([["u1", T0 + 99]]));
      expect(await other.raiseForks("s")).toBeNull();
      expect(await store.readRecord("s")).toEqual(before);
      const dead = await replaced(store, before, { deleted: true });
      expect(await other.deleteRecord("u1")).toBe(false);
      expect(await other.listSweepable(0, 10)).toEqual([]);
      expect(await store.scanRecords("", 10)).toEqual([dead]);
    });

    it("share the logs, because logs are named by uids", async () => {
      await fill(subject.store, "u.1", 1, 3);
      expect(await seqs(subject.database.namespace("other"), "u.1", 1, 9)).toEqual([1, 2, 3]);
    });

    it("are listed when they have records or todos", async () => {
      expect(await subject.database.listNamespaces()).toEqual([]);
      await subject.database.namespace("empty").readTodos();
      for (const name of NAMES.slice(0, 4)) await created(subject.database.namespace(name), `uid of ${name}`);
      for (const name of NAMES.slice(3)) await subject.database.namespace(name).replaceTodos([], 0);
      expect([...(await subject.database.listNamespaces())].sort()).toEqual([...NAMES].sort());
    });

    it("look the same through all handles, and outlive each of them", async () => {
      const one = subject.database.namespace("a");
      const two = subject.database.namespace("a");
      await created(one, "u1", { sessionId: "s" });
      expect(await two.createRecord(record("u2", { sessionId: "s" }))).toBe("exists");
      await one.close();
      expect((await two.readRecord("s"))?.uid).toBe("u1");
      expect((await subject.database.namespace("a").readRecord("s"))?.uid).toBe("u1");
    });
  });

  describe("ping", () => {
    it("resolves while the database answers", async () => {
      await expect(subject.store.ping()).resolves.toBeUndefined();
    });
  });

  describe("calls that have ended", () => {
    it("change nothing and reject", async () => {
      const past = { deadlineMs: Date.now() - 1 };
      const gone = { signal: AbortSignal.abort() };
      await expect(subject.store.createRecord(record("u1"), past), "createRecord").rejects.toMatchObject({
        code: "deadline_exceeded",
      });
      await expect(subject.store.replaceTodos([], 0, gone), "replaceTodos").rejects.toMatchObject({ code: "canceled" });
      await expect(subject.store.readRecord("s", gone), "readRecord").rejects.toMatchObject({ code: "canceled" });
      if (subject.store.readNewest) {
        const newest = subject.store.readNewest("s", { limit: 1, maxBytes: 1 }, gone);
        await expect(newest, "readNewest").rejects.toMatchObject({ code: "canceled" });
      }
      await expect(subject.store.seal("u.1", 0, past), "seal").rejects.toMatchObject({ code: "deadline_exceeded" });
      expect(await subject.database.listNamespaces()).toEqual([]);
      expect(await subject.store.tail("u.1")).toMatchObject({ last: null, state: "open" });
    });
  });
}
