import { describe, expect } from "vitest";
import { PIECE_BYTES } from "../../../src/domain/attachment.js";
import type { StoredAttachment } from "../../../src/storage/history/log-store.js";
import { ALL, arriving, begun, itKeeps, naming, stored } from "./attachment-fixtures.js";
import { disown, type entry, fill, own } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeAttachments(subject: LogStoreSubject): void {
  const keeps = (name: string, work: Parameters<typeof itKeeps>[2]) => itKeeps(subject, name, work);

  describe("attachments change and remove", () => {
    keeps("changes what it is told and nothing else, and never a state back", async (table, store) => {
      const row = await stored(store, "u.2", { attachmentId: "a" });
      await table.change("u.2", { seenMs: 50 });
      expect(await table.findLog("u.2")).toEqual({ ...row, seenMs: 50 });
      await table.change("u.2", { seenMs: 60, pieces: 3 });
      expect(await table.findLog("u.2")).toEqual({ ...row, seenMs: 60, pieces: 3 });
      await table.change("u.2", { seenMs: 0, state: "doomed" });
      await table.change("u.2", { seenMs: 70 });
      const doomed = { ...row, seenMs: 70, pieces: 3, state: "doomed" };
      expect(await table.findLog("u.2")).toEqual(doomed);
      expect(await table.complete({ ...row, seenMs: 80 })).toBe("gone");
      expect(await table.begin(arriving("u.2"))).toBe("stored");
      expect(await table.findLog("u.2")).toEqual(doomed);
      await table.change("u.9", { seenMs: 50, state: "doomed" });
      expect(await table.findLog("u.9")).toBeNull();
    });

    keeps("removes a row but no piece, and can be repeated", async (table, store) => {
      await stored(store, "u.2", { attachmentId: "a", size: 9 });
      await table.remove("u.2");
      await table.remove("u.2");
      expect(await table.findLog("u.2")).toBeNull();
      expect(await table.find("u", ["a"])).toEqual([]);
      expect(await table.usage("u")).toEqual({ bytes: 0, arriving: 0 });
      expect(await table.lastPiece("u.2")).toBe(1);
      await store.deleteEntries({ log: "u.2", first: 1, last: 9 }, ALL);
      expect(await table.lastPiece("u.2")).toBe(0);
    });
  });

  describe("attachments list", () => {
    const logsOf = (rows: readonly StoredAttachment[]) => rows.map(({ log }) => log);

    keeps("lists every row of a session by log, however few at a time", async (table, store) => {
      const logs = ["u.1a", "u.1\uFF5E", "u.1\u{1F600}", "u.2", "u.10"];
      for (const log of logs) await begun(store, log);
      for (const log of ["u2.2", "u-.2", "u/.2", "t.2"]) await stored(store, log);
      await table.change("u.2", { seenMs: 0, state: "doomed" });
      const all = logsOf(await table.list("u", "", ALL));
      expect([...all].sort()).toEqual([...logs].sort());
      for (const limit of [1, 2, 4, 5, 6]) {
        const paged: string[] = [];
        for (let some: string[]; ; ) {
          some = logsOf(await table.list("u", paged.at(-1) ?? "", limit));
          paged.push(...some);
          if (some.length < limit) break;
        }
        expect(paged).toEqual(all);
      }
      expect(await table.list("nobody", "", ALL)).toEqual([]);
    });

    keeps("lists those in a state that were seen until a time, the earliest first", async (table, store) => {
      for (const [i, log] of ["u.2", "v.2", "u.3", "w.2"].entries())
        await begun(store, log, { seenMs: 4000 - i * 1000 });
      await stored(store, "u.4", { seenMs: 1 });
      expect(logsOf(await table.listSeen("arriving", 3000, ALL))).toEqual(["w.2", "u.3", "v.2"]);
      expect(logsOf(await table.listSeen("arriving", 2999, ALL))).toEqual(["w.2", "u.3"]);
      expect(logsOf(await table.listSeen("arriving", 9999, 1))).toEqual(["w.2"]);
      expect(logsOf(await table.listSeen("stored", 1, ALL))).toEqual(["u.4"]);
      await table.change("w.2", { seenMs: 9000 });
      await table.change("u.3", { seenMs: 0, state: "doomed" });
      expect(logsOf(await table.listSeen("arriving", 9999, ALL))).toEqual(["v.2", "u.2", "w.2"]);
      expect(logsOf(await table.listSeen("doomed", 0, ALL))).toEqual(["u.3"]);
    });

    keeps("sums the sizes of a session's rows, in whatever state", async (table, store) => {
      await stored(store, "u.2", { size: 2 ** 33 });
      await stored(store, "u.3", { size: 7 });
      await table.change("u.3", { seenMs: 0, state: "doomed" });
      for (const log of ["u.4", "u.5"]) await begun(store, log);
      await stored(store, "u2.2", { size: 1 });
      expect(await table.usage("u")).toEqual({ bytes: 2 ** 33 + 7, arriving: 2 });
      expect(await table.usage("nobody")).toEqual({ bytes: 0, arriving: 0 });
    });

    keeps("keeps namespaces apart", async (table, store) => {
      const row = await stored(store, "u.2", { attachmentId: "a" });
      const half = await begun(store, "u.3");
      const other = subject.database.namespace("other").attachments as typeof table;
      expect(await other.findLog("u.2")).toBeNull();
      expect(await other.find("u", ["a"])).toEqual([]);
      expect(await other.list("u", "", ALL)).toEqual([]);
      expect(await other.listSeen("stored", Number.MAX_SAFE_INTEGER, ALL)).toEqual([]);
      expect(await other.putPiece("u.3", 1, Buffer.from("theirs"))).toBe("gone");
      expect(await other.complete({ ...row, log: "u.3" })).toBe("gone");
      await other.change("u.2", { seenMs: 0, state: "doomed" });
      await other.remove("u.2");
      expect(await table.list("u", "", ALL)).toEqual([row, half]);
    });
  });

  describe("attachments of a store", () => {
    keeps("are deleted with a uid: rows, pieces and what its entries name, in chunks", async (table, store) => {
      for (let i = 2; i < 6; i++) {
        await begun(store, `u.${i}`);
        for (let seq = 1; seq <= 4; seq++) await table.putPiece(`u.${i}`, seq, Buffer.from("bytes"));
      }
      await stored(store, "v.2");
      await own(store, "u.1", "v.1");
      await store.append("u.1", 1, [naming("u.1", 1, ["a", "v.2"], ["b", "u.2"])]);
      await store.append("v.1", 1, [naming("v.1", 1, ["a", "v.2"], ["b", "u.2"])]);
      let calls = 0;
      while ((await store.deleteEntries({ uid: "u" }, 3)) && calls < ALL) calls++;
      expect(calls).toBeLessThan(ALL);
      expect(await table.list("u", "", ALL)).toEqual([]);
      expect(await Promise.all(["u.2", "u.3", "u.4", "u.5"].map((log) => table.lastPiece(log)))).toEqual([0, 0, 0, 0]);
      expect(await table.usage("u")).toEqual({ bytes: 0, arriving: 0 });
      expect(await table.namings("v.2", undefined, ALL)).toMatchObject([{ log: "v.1", seq: 1 }]);
      expect(await table.namings("u.2", undefined, ALL)).toMatchObject([{ log: "v.1", seq: 1 }]);
      expect(await table.list("v", "", ALL)).toHaveLength(1);
      expect(await table.lastPiece("v.2")).toBe(1);
    });

    keeps("lose the pieces of a range, in chunks, and no others", async (table, store) => {
      for (const log of ["u.2", "u.3"]) {
        await begun(store, log);
        for (let seq = 1; seq <= 9; seq++) await table.putPiece(log, seq, Buffer.from(`${seq}`));
      }
      const range = { log: "u.2", first: 3, last: 8 };
      let calls = 0;
      while ((await store.deleteEntries(range, 2)) && calls < ALL) calls++;
      expect(calls).toBeLessThan(ALL);
      expect(await table.readPieces("u.2", 1, ALL)).toHaveLength(2);
      expect((await table.readPieces("u.2", 9, ALL)).map((piece) => `${Buffer.from(piece)}`)).toEqual(["9"]);
      expect(await table.readPieces("u.3", 1, ALL)).toHaveLength(9);
      expect(await table.list("u", "", ALL)).toHaveLength(2);
      expect(await store.deleteEntries({ log: "u.2", first: 1, last: ALL }, ALL)).toBe(false);
      expect(await table.lastPiece("u.2")).toBe(0);
    });

    keeps("count as bytes of a range, beside entries", async (table, store) => {
      await begun(store, "u.2");
      for (const [i, bytes] of [100, 0, 1000, PIECE_BYTES].entries()) {
        await table.putPiece("u.2", i + 1, new Uint8Array(bytes));
      }
      const range = (first: number, last: number) => store.entryBytes([{ log: "u.2", first, last }]);
      expect([await range(1, 4), await range(2, 3), await range(4, ALL), await range(5, 9)]).toEqual([
        1100 + PIECE_BYTES,
        1000,
        PIECE_BYTES,
        0,
      ]);
      const [one] = (await fill(store, "u.1", 1, 1)) as [ReturnType<typeof entry>];
      const both = [
        { log: "u.1", first: 1, last: 1 },
        { log: "u.2", first: 1, last: 1 },
      ];
      expect(await store.entryBytes(both)).toBe(one.body.storedBytes + 100);
    });

    keeps("make a uid without a record an orphan, by a row or by a piece alone", async (table, store) => {
      await begun(store, "row.2");
      for (const log of ["piece.2", "both.2", "here.2"]) await stored(store, log);
      await table.remove("piece.2");
      for (const uid of ["row", "piece", "both"]) await disown(store, uid);
      expect([...(await store.listOrphans(10))].sort()).toEqual(["both", "piece", "row"]);
      expect(await store.listOrphans(2)).toHaveLength(2);
      for (const uid of ["row", "piece"]) while (await store.deleteEntries({ uid }, 10));
      expect(await store.listOrphans(10)).toEqual(["both"]);
    });

    keeps("are not changed or read by calls that have ended", async (table, store) => {
      await begun(store, "u.2");
      const past = { deadlineMs: Date.now() - 1 };
      const gone = { signal: AbortSignal.abort() };
      await expect(table.begin(arriving("u.3"), past)).rejects.toMatchObject({ code: "deadline_exceeded" });
      await expect(table.putPiece("u.2", 1, Buffer.from("a"), gone)).rejects.toMatchObject({ code: "canceled" });
      await expect(table.complete(arriving("u.2"), gone)).rejects.toMatchObject({ code: "canceled" });
      await expect(table.change("u.2", { seenMs: 5 }, past)).rejects.toMatchObject({ code: "deadline_exceeded" });
      await expect(table.remove("u.2", past)).rejects.toMatchObject({ code: "deadline_exceeded" });
      await expect(table.readPieces("u.2", 1, 1, gone)).rejects.toMatchObject({ code: "canceled" });
      await expect(table.findLog("u.2", gone)).rejects.toMatchObject({ code: "canceled" });
      await expect(table.listNamings(["u.1"], "", 1, gone)).rejects.toMatchObject({ code: "canceled" });
      expect(await table.list("u", "", ALL)).toEqual([arriving("u.2")]);
      expect(await table.lastPiece("u.2")).toBe(0);
    });
  });
}
