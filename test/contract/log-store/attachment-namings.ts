import { describe, expect } from "vitest";
import { ERASED_BODY } from "../../../src/domain/erasure.js";
import { hasControl } from "../../../src/domain/validate.js";
import type { AttachmentTable, Naming } from "../../../src/storage/history/log-store.js";
import { ALL, fillNaming, itKeeps, namedBy, naming, sorted } from "./attachment-fixtures.js";
import { entry, fill, ODD_TEXTS, own } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeAttachmentNamings(subject: LogStoreSubject): void {
  const keeps = (name: string, work: Parameters<typeof itKeeps>[2]) => itKeeps(subject, name, work);
  const places = (namings: readonly Naming[]) => namings.map(({ log, seq }) => `${log} ${seq}`);
  /** All that names something in these logs, as the index says and as the stored entries say. */
  const both = async (...logs: string[]) => {
    const table = subject.store.attachments as AttachmentTable;
    const indexed = sorted(await table.listNamings(logs, "", ALL));
    expect(indexed).toEqual(await namedBy(subject.store, logs));
    return indexed;
  };

  describe("attachments that entries name", () => {
    keeps("are found by what names them, by log and place, however few at a time", async (table, store) => {
      await fillNaming(store, [
        naming("u.1", 1, ["a", "x.1"]),
        naming("u.1", 2, ["b", "x.2"]),
        naming("u.1", 3, ["b", "x.2"], ["a", "x.1"]),
        entry("u.1", 4),
        naming("u.10", 1, ["a", "x.1"]),
        naming("t.1", 1, ["a", "x.1"], ["b", "x.10"]),
      ]);
      const expected = ["t.1 1", "u.1 1", "u.1 3", "u.10 1"];
      expect(await table.namings("x.1", undefined, ALL)).toEqual(
        expected.map((place) => {
          const [log, seq] = place.split(" ");
          return { log, seq: Number(seq), attachmentId: "a", target: "x.1" };
        }),
      );
      for (const limit of [1, 2, 3, 4]) {
        const found: Naming[] = [];
        for (let some: readonly Naming[]; ; ) {
          some = await table.namings("x.1", found.at(-1), limit);
          found.push(...some);
          if (some.length < limit) break;
        }
        expect(places(found)).toEqual(expected);
      }
      expect(places(await table.namings("x.2", undefined, ALL))).toEqual(["u.1 2", "u.1 3"]);
      expect(await table.namings("x", undefined, ALL)).toEqual([]);
    });

    keeps("are found by their ids in some logs, and listed by id", async (table, store) => {
      await fillNaming(store, [
        naming("u.1", 1, ["c", "x.1"], ["a", "x.2"]),
        naming("u.1", 2, ["a", "x.2"]),
        naming("u.2", 1, ["a", "x.3"], ["b", "x.4"]),
        naming("u.3", 1, ["a", "x.2"]),
      ]);
      const logs = ["u.1", "u.2", "u.1", "u.9"];
      const find = async (ids: readonly string[]) => sorted(await table.findNamings(logs, ids));
      const all = [
        { log: "u.1", seq: 1, attachmentId: "a", target: "x.2" },
        { log: "u.1", seq: 2, attachmentId: "a", target: "x.2" },
        { log: "u.2", seq: 1, attachmentId: "a", target: "x.3" },
        { log: "u.2", seq: 1, attachmentId: "b", target: "x.4" },
        { log: "u.1", seq: 1, attachmentId: "c", target: "x.1" },
      ];
      expect(await find(["a", "a", "zz"])).toEqual(sorted(all.slice(0, 3)));
      expect(await find(["c", "b"])).toEqual(sorted(all.slice(3)));
      expect([await find([]), await table.findNamings([], ["a"]), await table.listNamings([], "", ALL)]).toEqual([
        [],
        [],
        [],
      ]);
      const listed = await table.listNamings(logs, "", ALL);
      expect(listed.map(({ attachmentId }) => attachmentId)).toEqual(["a", "a", "a", "b", "c"]);
      expect(sorted(listed)).toEqual(sorted(all));
      expect(sorted(await table.listNamings(logs, "a", 1))).toEqual(sorted(all.slice(3, 4)));
      expect(await table.listNamings(logs, "a", 2)).toEqual(all.slice(3));
      expect(await table.listNamings(logs, "c", ALL)).toEqual([]);
      expect((await table.listNamings(logs, "", 2)).map(({ attachmentId }) => attachmentId)).toEqual(["a", "a"]);
    });

    keeps("have any ids, in an order that is always the same", async (table, store) => {
      const ids = [...ODD_TEXTS.filter((text) => !hasControl(text)), "a", "B", "a ", "A", "aa", "\u00E9", "z"];
      await fillNaming(
        store,
        ids.map((id, i) => naming(`u.${(i % 3) + 1}`, Math.floor(i / 3) + 1, [id, `x.${i}`])),
      );
      const logs = ["u.1", "u.2", "u.3"];
      const listed = (await table.listNamings(logs, "", ALL)).map(({ attachmentId }) => attachmentId);
      const byCodeUnit = [...ids].sort();
      const byByte = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect([byCodeUnit, byByte]).toContainEqual(listed);
      for (const limit of [1, 5]) {
        const paged: string[] = [];
        for (let some: readonly Naming[]; ; ) {
          some = await table.listNamings(logs, paged.at(-1) ?? "", limit);
          paged.push(...some.map(({ attachmentId }) => attachmentId));
          if (some.length < limit) break;
        }
        expect(paged).toEqual(listed);
      }
      for (const [i, id] of ids.entries()) {
        expect(await table.findNamings(logs, [id])).toMatchObject([{ attachmentId: id, target: `x.${i}` }]);
        expect(await table.namings(`x.${i}`, undefined, ALL)).toMatchObject([{ attachmentId: id }]);
      }
      expect(await table.findNamings(logs, ids)).toHaveLength(ids.length);
    });

    keeps("may be many: by one entry, of one target, and in many logs", async (table, store) => {
      const logs = Array.from({ length: 60 }, (_, i) => `u.${i + 1}`);
      const ids = Array.from({ length: 100 }, (_, i) => `id ${i}`);
      await fillNaming(store, [
        naming("u.1", 1, ...ids.map((id) => [id, `x.${id}`] as const)),
        ...logs.slice(1).map((log) => naming(log, 1, ["id 7", "x.id 7"])),
      ]);
      await own(store, "v.1");
      const batch = Array.from({ length: 300 }, (_, i) => naming("v.1", i + 1, ["id 7", "x.id 7"]));
      for (let i = 0; i < batch.length; i += 100) {
        const some = batch.slice(i, i + 100).map((one, at) => ({ ...one, remaining: 99 - at }));
        expect(await store.append("v.1", i + 1, some)).toBe(100);
      }
      expect(await table.namings("x.id 7", undefined, ALL)).toHaveLength(360);
      expect(await table.namings("x.id 7", { log: "v.1", seq: 250 }, ALL)).toHaveLength(50);
      expect(await table.findNamings(logs, ids)).toHaveLength(159);
      expect(await table.listNamings(logs, "", ALL)).toHaveLength(159);
      expect(await table.targetsIn({ log: "u.1", first: 1, last: ALL }, ALL)).toHaveLength(100);
    });

    keeps("are those of stored entries, whatever was refused", async (_table, store) => {
      await fillNaming(store, [naming("u.1", 1, ["a", "x.1"])]);
      await store.append("u.1", 1, [naming("u.1", 1, ["b", "x.2"])]);
      await store.append("u.1", 3, [naming("u.1", 3, ["b", "x.2"])]);
      const twice = [2, 3].map((seq) => ({ ...naming("u.1", seq, ["b", "x.2"]), id: "m1" }));
      await store.append("u.1", 2, twice);
      await store.append("u.1", 2, [naming("u.1", 2, ["b", "x.2"]), { ...naming("u.1", 3, ["c", "x.3"]), id: "m1" }]);
      await store.append("nobody.1", 1, [naming("nobody.1", 1, ["b", "x.2"])]);
      await both("u.1", "nobody.1");
      await store.seal("u.1");
      await store.append("u.1", 2, [naming("u.1", 2, ["b", "x.2"])]);
      await store.append("u.1", 3, [naming("u.1", 3, ["b", "x.2"])]);
      await both("u.1");
    });

    keeps("change when entries are overwritten", async (_table, store) => {
      const before = [
        naming("u.1", 1, ["a", "x.1"], ["b", "x.2"]),
        naming("u.1", 2, ["a", "x.1"]),
        entry("u.1", 3),
        naming("u.1", 4, ["a", "x.1"]),
      ];
      await fillNaming(store, before);
      const after = [
        naming("u.1", 1, ["b", "x.2"], ["c", "x.3"]),
        { ...naming("u.1", 2), body: ERASED_BODY },
        naming("u.1", 3, ["d", "x.4"]),
      ];
      for (let i = 0; i < 2; i++) {
        await store.overwriteEntries(after);
        expect(await both("u.1")).toHaveLength(4);
      }
      await store.overwriteEntries([
        { ...naming("u.1", 4, ["e", "x.5"]), id: "another" },
        naming("u.1", 9, ["e", "x.5"]),
        naming("nobody.1", 1, ["e", "x.5"]),
      ]);
      expect(await both("u.1", "nobody.1")).toHaveLength(4);
    });

    keeps("are those of the body that wins when entries are overwritten at once", async (_table, store) => {
      await fillNaming(
        store,
        Array.from({ length: 6 }, (_, i) => naming("u.1", i + 1, ["a", "x.0"])),
      );
      const overwrites = Array.from({ length: 12 }, (_, i) => {
        const some = Array.from({ length: 6 }, (_, at) => naming("u.1", at + 1, ["a", `x.${i}`], [`b${i}`, "x.0"]));
        return store.overwriteEntries(i % 2 === 0 ? some : some.toReversed());
      });
      const appended = store.append("u.1", 7, [naming("u.1", 7, ["a", "x.0"])]);
      await Promise.all(overwrites);
      expect(await appended).toBe(1);
      expect(await both("u.1")).toHaveLength(13);
    });

    keeps("are forgotten with the entries of a range, in chunks, and with those of a uid", async (table, store) => {
      const logs = ["u.1", "u.2", "u2.1"];
      for (const log of logs) {
        await fillNaming(
          store,
          Array.from({ length: 9 }, (_, i) => naming(log, i + 1, ["a", "x.1"], [`b${i}`, "x.2"])),
        );
      }
      const range = { log: "u.1", first: 3, last: 7 };
      for (let i = 0, more = true; more && i < ALL; i++) {
        more = await store.deleteEntries(range, 2);
        await both(...logs);
      }
      expect(await both("u.1")).toHaveLength(8);
      while (await store.deleteEntries({ uid: "u" }, 4)) await both(...logs);
      expect(await both("u.1", "u.2")).toEqual([]);
      expect(places(await table.namings("x.2", undefined, ALL))).toHaveLength(9);
      expect(await both("u2.1")).toHaveLength(18);
    });

    keeps("are told of a range, and of a session that names those of others", async (table, store) => {
      await fill(store, "v.1", 1, 2);
      await fillNaming(store, [
        naming("u.1", 1, ["a", "u.9"], ["b", "v.9"]),
        naming("u.1", 2, ["a", "u.9"], ["c", "u.8"]),
        naming("u.1", 3, ["d", "u2.9"]),
        naming("u.2", 1, ["e", "u-.9"], ["b", "v.9"]),
        naming("u2.1", 1, ["a", "u.9"], ["d", "u2.9"]),
        naming("w.1", 1, ["a", "w.9"]),
      ]);
      const within = async (first: number, last: number) =>
        [...(await table.targetsIn({ log: "u.1", first, last }, ALL))].sort();
      expect(await within(1, 2)).toEqual(["u.8", "u.9", "v.9"]);
      expect(await within(2, ALL)).toEqual(["u.8", "u.9", "u2.9"]);
      expect(await within(4, 9)).toEqual([]);
      expect(await table.targetsIn({ log: "u.1", first: 1, last: 3 }, 2)).toHaveLength(2);
      const foreign = async (uid: string) => [...(await table.targetsIn({ foreignTo: uid }, ALL))].sort();
      expect(await foreign("u")).toEqual(["u-.9", "u2.9", "v.9"]);
      expect(await foreign("u2")).toEqual(["u.9"]);
      expect([await foreign("w"), await foreign("v"), await foreign("nobody")]).toEqual([[], [], []]);
      expect(await table.targetsIn({ foreignTo: "u" }, 2)).toHaveLength(2);
    });
  });
}
