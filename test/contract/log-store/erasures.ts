import { describe, expect, it } from "vitest";
import { ERASED_BODY, ERASED_PARTS } from "../../../src/domain/erasure.js";
import { MessageBody } from "../../../src/domain/message-body.js";
import type { Entry, LogStore, OwnedPlace } from "../../../src/storage/history/log-store.js";
import { allComparable, created, disown, entry, fill, ODD_TEXTS, own, seqs, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeErasures(subject: LogStoreSubject): void {
  const wanted = { id: "m2", originSessionId: "s", timestampMicros: T0 + 2 };
  const copies = async (...uids: string[]) =>
    placesOf(
      await subject.store.findCopies(
        uids.map((uid) => ({ uid, sessionId: "s" })),
        wanted,
      ),
    );

  describe("findCopies", () => {
    it("finds the message in all logs of the owners, named or not, and in no others", async () => {
      for (const log of ["u.1", "u.2", "v.1", "u2.1", "u-.1", "u/.1", "t.1"]) await fill(subject.store, log, 1, 3);
      await subject.store.seal("u.2");
      expect(await copies("u", "v")).toEqual(["u.1 2", "u.2 2", "v.1 2"]);
      expect(await copies("u2")).toEqual(["u2.1 2"]);
      await disown(subject.store, "u");
      expect(await copies("u")).toEqual(["u.1 2", "u.2 2"]);
      expect(await copies("nobody")).toEqual([]);
      expect(await copies()).toEqual([]);
    });

    it("finds no other message: id, origin and timestamp must match", async () => {
      await own(subject.store, "u.1", "v.1", "w.1", "x.1");
      await subject.store.append("u.1", 1, [entry("u.1", 1, { ...wanted, id: "m3" })]);
      await subject.store.append("v.1", 1, [entry("v.1", 1, { ...wanted, originSessionId: "t" })]);
      await subject.store.append("w.1", 1, [entry("w.1", 1, { ...wanted, timestampMicros: T0 + 3 })]);
      await subject.store.append("x.1", 1, [entry("x.1", 1, wanted)]);
      expect(await copies("u", "v", "w", "x")).toEqual(["x.1 1"]);
    });

    it("finds messages with odd ids", async () => {
      await created(subject.store, "u");
      for (const [i, id] of ODD_TEXTS.entries()) {
        await subject.store.append("u.1", i + 1, [entry("u.1", i + 1, { id })]);
      }
      for (const [i, id] of ODD_TEXTS.entries()) {
        const message = { id, originSessionId: "s", timestampMicros: T0 + i + 1 };
        const found = await subject.store.findCopies([{ uid: "u", sessionId: "s" }], message);
        expect(placesOf(found)).toEqual([`u.1 ${i + 1}`]);
      }
    });
  });

  describe("findOwned", () => {
    it("finds an id in all logs of the owner, whenever it was written, and in no others", async () => {
      for (const log of ["u.1", "u.2", "u2.1", "u-.1", "t.1"]) await fill(subject.store, log, 1, 3);
      await own(subject.store, "u.3");
      await subject.store.append("u.3", 1, [entry("u.3", 1, { id: "m2" })]);
      expect(placesOf(await subject.store.findOwned("u", "m2"))).toEqual(["u.1 2", "u.2 2", "u.3 1"]);
      expect(await subject.store.findOwned("u", "nothing")).toEqual([]);
      expect(await subject.store.findOwned("nobody", "m2")).toEqual([]);
    });
  });

  describe("listOwned", () => {
    const listed = async (uid: string, limit = 100) => {
      const places: OwnedPlace[] = [];
      for (let some: readonly OwnedPlace[]; ; ) {
        some = await subject.store.listOwned(uid, places.at(-1), limit);
        places.push(...some);
        if (some.length < limit)
          return places.map(({ log, seq, originSessionId }) => `${log} ${seq} ${originSessionId}`);
      }
    };

    it("lists every entry of the owner's logs once, named or not, however few at a time", async () => {
      for (const log of ["u.1", "u.2", "u2.1", "u-.1", "u/.1", "t.1"]) await fill(subject.store, log, 1, 3);
      await subject.store.seal("u.2");
      await subject.store.deleteEntries({ log: "u.1", first: 2, last: 2 }, 10);
      await disown(subject.store, "u");
      const places = ["u.1 1 s", "u.1 3 s", "u.2 1 s", "u.2 2 s", "u.2 3 s"];
      for (const limit of [1, 2, 3, 5, 100]) expect((await listed("u", limit)).sort()).toEqual(places);
      expect(await listed("nobody")).toEqual([]);
    });

    it("says where each entry comes from", async () => {
      await own(subject.store, "u.1");
      for (const [i, originSessionId] of ["s", ...ODD_TEXTS].entries()) {
        await subject.store.append("u.1", i + 1, [entry("u.1", i + 1, { originSessionId })]);
      }
      expect(await listed("u")).toEqual(["s", ...ODD_TEXTS].map((origin, i) => `u.1 ${i + 1} ${origin}`));
    });
  });

  describe("overwriteEntries", () => {
    it("replaces parts and metadata, keeps all else, and touches no other entry", async () => {
      const data = { list: [1, "x"] };
      const before = await fill(subject.store, "u.1", 1, 4, () => ({
        parts: [{ id: "p", type: "text", text: "secret".repeat(100), data }],
        metadata: { secret: true },
        originSessionId: "elsewhere",
        remaining: 0,
      }));
      const [, second, third] = before as [Entry, Entry, Entry];
      await subject.store.overwriteEntries(erased(second, third));
      const { entries: after } = await subject.store.readRange("u.1", 1, 4);
      const expected = before.map((one) => (one === second || one === third ? { ...one, body: ERASED_BODY } : one));
      expect(allComparable(after)).toEqual(allComparable(expected));
      expect(after.map(({ body }) => body.metadata === undefined)).toEqual([false, true, true, false]);
      expect(allComparable(await subject.store.findById(["u.1"], ["m2"]))).toEqual(
        allComparable([expected[1] as Entry]),
      );
      expect(await subject.store.tail("u.1")).toMatchObject({ last: { seq: 4 }, state: "open" });
      expect(await subject.store.append("u.1", 5, [entry("u.1", 5)])).toBe(1);
    });

    it("makes a limit of bytes count an entry with its new size", async () => {
      const parts = [{ id: "", type: "text", text: "x".repeat(10_000) }];
      const before = await fill(subject.store, "u.1", 1, 5, () => ({ parts, remaining: 0 }));
      const read = async () => (await subject.store.readRange("u.1", 1, 5, { maxBytes: 15_000 })).entries.length;
      expect(await read()).toBeLessThan(3);
      await subject.store.overwriteEntries(erased(...before.slice(0, 4)));
      expect(await read()).toBe(5);
    });

    it("can be repeated, and skips entries that are gone", async () => {
      const before = await fill(subject.store, "u.1", 1, 3);
      await subject.store.overwriteEntries(erased(...before));
      await subject.store.deleteEntries({ log: "u.1", first: 3, last: 3 }, 10);
      await subject.store.overwriteEntries(
        erased(...before, entry("nothing.1", 1), { ...(before[0] as Entry), id: "another" }),
      );
      const { entries: after } = await subject.store.readRange("u.1", 1, 3);
      expect(after.map(({ id, body }) => [id, body.parts])).toEqual(["m1", "m2"].map((id) => [id, ERASED_PARTS]));
      await subject.store.overwriteEntries([]);
    });

    it("can be called many times at once: each entry has one of the bodies, whole, and nothing else is lost", async () => {
      const before = await fill(subject.store, "u.1", 1, 20, () => ({ remaining: 0 }));
      const calls = Array.from({ length: 12 }, (_, i) => {
        const some = i % 2 === 0 ? before : before.toReversed().slice(5);
        const body = MessageBody.of({ parts: [{ id: "", type: "text", text: `${i}` }], metadata: { by: `${i}` } });
        return subject.store.overwriteEntries(some.map((one) => ({ ...one, body })));
      });
      const appends = fill(subject.store, "v.1", 1, 5);
      const following = subject.store.append("u.1", 21, [entry("u.1", 21)]);
      await Promise.all([...calls, appends]);
      expect(await following).toBe(1);
      const { entries: after } = await subject.store.readRange("u.1", 1, 20);
      expect(after.map(({ seq, id }) => [seq, id])).toEqual(before.map(({ seq, id }) => [seq, id]));
      for (const { body } of after) {
        expect(body.parts.map(({ text }) => text)).toEqual([body.metadata?.by]);
      }
      expect(await seqs(subject.store, "u.1", 21, 99)).toEqual([21]);
      expect(await seqs(subject.store, "v.1", 1, 99)).toEqual([1, 2, 3, 4, 5]);
    });
  });

  describe("cleanFiles", () => {
    it("can be called many times at once, while others write", async (context) => {
      const { store } = subject;
      if (!store.cleanFiles) return context.skip("the store has no files of its own");
      await fill(store, "u.1", 1, 50);
      const writes = Array.from({ length: 20 }, (_, i) => created(store, `w${i}`));
      await Promise.all([store.cleanFiles(), store.cleanFiles(), cleanAndWrite(store), ...writes]);
      expect((await store.readRange("u.1", 1, 99)).entries).toHaveLength(50);
      expect(await store.readRecordByUid("after")).not.toBeNull();
    });
  });
}

async function cleanAndWrite(store: LogStore): Promise<void> {
  await store.cleanFiles?.();
  await created(store, "after");
}

function erased(...entries: readonly Entry[]): Entry[] {
  return entries.map((one) => ({ ...one, body: ERASED_BODY }));
}

function placesOf(entries: readonly Entry[]): string[] {
  return entries.map(({ log, seq }) => `${log} ${seq}`).sort();
}
