import { describe, expect, it } from "vitest";
import type { SessionRecord } from "../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { created, entry, fill, replaced, seqs, T0 } from "../../../contract/log-store/fixtures.js";

describe("a database in memory", () => {
  it("returns objects that nobody can change", async () => {
    const store = new MemoryLogDatabase().namespace("a");
    await fill(store, "u.1", 1, 1, () => ({ metadata: { list: [{ a: 1 }] } }));
    const record = await created(store, "u", { metadata: { b: { c: 2 } } });
    await store.replaceTodos([{ id: "t", content: "", status: "", priority: "" }], 0);
    const [one] = (await store.readRange("u.1", 1, 1)).entries;
    const { todos } = await store.readTodos();
    for (const given of [
      one,
      one?.body.parts,
      one?.body.parts[0],
      one?.body.metadata,
      record,
      record.metadata,
      record.dropped,
      todos,
      todos[0],
    ]) {
      expect(Object.isFrozen(given)).toBe(true);
    }
    expect(() => Object.assign(one?.body.metadata?.list as object, { 0: "changed" })).toThrow(TypeError);
  });

  it("keeps records frozen after every change", async () => {
    const store = new MemoryLogDatabase({ now: () => T0 / 1000 + 5000 }).namespace("a");
    await created(store, "u", { sessionId: "s" });
    await store.addFork("u", 1);
    expect(Object.isFrozen(await store.raiseForks("s"))).toBe(true);
    await store.append("u.1", 1, [entry("u.1", 1)]);
    expect(await store.readRecord("s")).toMatchObject({ forks: 2, updateTimeMicros: T0 + 5_000_000 });
    expect(Object.isFrozen(await store.readRecord("s"))).toBe(true);
  });

  it("uses the clock it was given", async () => {
    const database = new MemoryLogDatabase({ now: () => 1_234 });
    expect(await database.namespace("a").timeMs()).toBe(1_234);
  });

  it("dumps everything that it holds", async () => {
    const database = new MemoryLogDatabase({ now: () => T0 / 1000 });
    const record = await created(database.namespace("a"), "u");
    await fill(database.namespace("a"), "u.1", 1, 3);
    await database.namespace("a").seal("u.1");
    const other = await created(database.namespace("b"), "v");
    await database.namespace("b").append("v.1", 1, [entry("v.1", 1)]);
    const { records, logs } = database.dump();
    expect(records).toEqual([record, other]);
    expect([...logs].map(([name, { entries, sealed }]) => [name, entries.length, sealed])).toEqual([
      ["u.1", 3, true],
      ["v.1", 1, false],
    ]);
  });

  it("forgets a log whose last entry is deleted", async () => {
    const database = new MemoryLogDatabase();
    const store = database.namespace("a");
    await fill(store, "u.1", 1, 3);
    await fill(store, "u.2", 1, 3);
    await store.deleteEntries({ log: "u.1", first: 1, last: 3 }, 10);
    expect([...database.dump().logs.keys()]).toEqual(["u.2"]);
    await store.deleteEntries({ uid: "u" }, 10);
    expect(database.dump().logs.size).toBe(0);
    expect(await store.listOrphans(10)).toEqual([]);
  });

  it("continues to delete a range in chunks, even if entries were written to it again", async () => {
    const store = new MemoryLogDatabase().namespace("a");
    await fill(store, "u.1", 1, 9);
    expect(await store.deleteEntries({ log: "u.1", first: 3, last: 8 }, 2)).toBe(true);
    await store.deleteEntries({ log: "u.1", first: 5, last: 9 }, 10);
    await fill(store, "u.1", 3, 6, (seq) => ({ id: `new ${seq}` }));
    expect(await store.deleteEntries({ log: "u.1", first: 3, last: 8 }, 10)).toBe(false);
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2]);
    expect(await store.findById(["u.1"], ["new 3", "new 6"])).toEqual([]);
  });

  it("lists records in the right order after any changes", async () => {
    const store = new MemoryLogDatabase().namespace("a");
    const expected = new Map<string, SessionRecord>();
    for (let i = 0; i < 300; i++) {
      const uid = `u${(i * 7919) % 100}`;
      const known = expected.get(uid);
      if (known === undefined) {
        const parentId = i % 3 === 0 ? "p" : "";
        expected.set(uid, await created(store, uid, { updateTimeMicros: T0 + ((i * 31) % 17), parentId }));
      } else if (i % 11 === 0) {
        await replaced(store, known, { deleted: true });
        await store.deleteRecord(uid);
        expected.delete(uid);
      } else {
        expected.set(uid, await replaced(store, known, { updateTimeMicros: T0 + ((i * 13) % 19) }));
      }
      for (const parentId of ["", "p"]) {
        const wanted = [...expected.values()]
          .filter((one) => parentId === "" || one.parentId === parentId)
          .sort(newestFirst);
        expect(await store.listRecords({ parentId }, { limit: 1000 })).toEqual(wanted);
      }
    }
  });

  it("rejects with unavailable once it is closed", async () => {
    const database = new MemoryLogDatabase();
    const store = database.namespace("a");
    await database.close();
    await expect(store.tail("u.1")).rejects.toMatchObject({ code: "unavailable" });
  });
});

function newestFirst(a: SessionRecord, b: SessionRecord): number {
  return b.updateTimeMicros - a.updateTimeMicros || (a.sessionId < b.sessionId ? 1 : -1);
}
