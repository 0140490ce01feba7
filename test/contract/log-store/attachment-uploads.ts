import { describe, expect } from "vitest";
import { PIECE_BYTES } from "../../../src/domain/attachment.js";
import { hasControl } from "../../../src/domain/validate.js";
import { ALL, arriving, begun, itKeeps, stored } from "./attachment-fixtures.js";
import { created, ODD_TEXTS, own, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** Ids and names have no control characters. */
const TEXTS = ODD_TEXTS.filter((text) => !hasControl(text));

export function describeAttachmentUploads(subject: LogStoreSubject): void {
  const keeps = (name: string, work: Parameters<typeof itKeeps>[2]) => itKeeps(subject, name, work);

  describe("attachments begin", () => {
    keeps("adds a row that only its log and the list show", async (table, store) => {
      const row = await begun(store, "u.2");
      expect(await table.findLog("u.2")).toEqual(row);
      expect(await table.list("u", "", ALL)).toEqual([row]);
      expect(await table.find("u", [row.attachmentId])).toEqual([]);
      expect(await table.usage("u")).toEqual({ bytes: 0, arriving: 1 });
      expect(await table.lastPiece("u.2")).toBe(0);
      expect(await table.readPieces("u.2", 1, 10)).toEqual([]);
    });

    keeps("can be repeated, also late, and changes nothing then", async (table, store) => {
      const row = await begun(store, "u.2");
      expect(await table.begin({ ...row, seenMs: 7 })).toBe("stored");
      expect(await table.findLog("u.2")).toEqual(row);
      const whole = await stored(store, "u.3");
      expect(await table.begin(arriving("u.3"))).toBe("stored");
      expect(await table.findLog("u.3")).toEqual(whole);
    });

    keeps("is refused for a session that does not live, but not for one that is restored", async (table, store) => {
      const dead = await created(store, "dead");
      await replaced(store, dead, { deleted: true });
      await created(subject.database.namespace("other"), "elsewhere");
      for (const uid of ["nobody", "dead", "elsewhere"]) {
        expect(await table.begin(arriving(`${uid}.2`)), uid).toBe("gone");
        expect(await table.findLog(`${uid}.2`), uid).toBeNull();
      }
      expect(await table.listSeen("arriving", Number.MAX_SAFE_INTEGER, ALL)).toEqual([]);
      await replaced(store, await created(store, "back"), { deleted: true, restoring: true });
      expect(await table.begin(arriving("back.2"))).toBe("stored");
    });

    keeps("keeps odd texts and large numbers", async (table, store) => {
      for (const [i, text] of TEXTS.entries()) {
        const facts = { size: 2 ** 40 + i, createTimeMicros: T0 * 2 + i, seenMs: 2 ** 42 + i };
        const row = await stored(store, `u.${i}`, { attachmentId: text, name: text, mediaType: text, ...facts });
        expect(row).toMatchObject({ attachmentId: text, name: text, mediaType: text, size: 2 ** 40 + i });
        expect(await table.find("u", [text])).toEqual([row]);
      }
      expect(await table.find("u", TEXTS)).toHaveLength(TEXTS.length);
    });
  });

  describe("attachments putPiece", () => {
    keeps("keeps every byte, in pieces of any length up to 256 KiB", async (table, store) => {
      await begun(store, "u.2");
      const long = Uint8Array.from({ length: PIECE_BYTES }, (_, i) => (i * 31 + (i >> 8)) % 256);
      // A piece may be a view of a longer buffer.
      const pieces = [long, new Uint8Array(0), long.subarray(1000, 1256), Buffer.from([0])];
      for (const [i, piece] of pieces.entries()) expect(await table.putPiece("u.2", i + 1, piece)).toBe("stored");
      const read = await table.readPieces("u.2", 1, 10);
      expect(read.map((piece, i) => Buffer.compare(piece, pieces[i] as Uint8Array))).toEqual([0, 0, 0, 0]);
      expect((await table.readPieces("u.2", 2, 2)).map(({ length }) => length)).toEqual([0, 256]);
      expect(await table.readPieces("u.2", 5, 10)).toEqual([]);
      expect(await table.lastPiece("u.2")).toBe(4);
    });

    keeps("can be repeated and come in any order; reads end at a gap", async (table, store) => {
      await begun(store, "u.2");
      for (const seq of [4, 1, 2, 1]) expect(await table.putPiece("u.2", seq, Buffer.from(`${seq}`))).toBe("stored");
      const read = async (first: number) =>
        (await table.readPieces("u.2", first, 10)).map((piece) => `${Buffer.from(piece)}`);
      expect([await read(1), await read(2), await read(3), await read(4)]).toEqual([["1", "2"], ["2"], [], ["4"]]);
      expect(await table.lastPiece("u.2")).toBe(4);
      await table.putPiece("u.2", 3, Buffer.from("3"));
      expect(await read(1)).toEqual(["1", "2", "3", "4"]);
    });

    keeps("is refused unless an attachment with the log arrives", async (table, store) => {
      const put = (log: string) => table.putPiece(log, 2, Buffer.from("late"));
      await own(store, "u.2");
      expect(await put("u.2")).toBe("gone");
      await stored(store, "u.3");
      expect(await put("u.3")).toBe("gone");
      await begun(store, "u.4");
      await table.change("u.4", { seenMs: 0, state: "doomed" });
      expect(await put("u.4")).toBe("gone");
      await begun(store, "u.5");
      await table.remove("u.5");
      expect(await put("u.5")).toBe("gone");
      expect(await Promise.all(["u.2", "u.3", "u.4", "u.5"].map((log) => table.lastPiece(log)))).toEqual([0, 1, 0, 0]);
    });
  });

  describe("attachments complete", () => {
    const arrived = (log: string) => ({
      log,
      size: 5,
      sha256: "ab".repeat(32),
      createTimeMicros: T0 + 5,
      seenMs: 5000,
    });

    keeps("makes one visible, and can be repeated", async (table, store) => {
      const row = await begun(store, "u.2", { attachmentId: "a" });
      await table.putPiece("u.2", 1, Buffer.from("12345"));
      const whole = { ...row, ...arrived("u.2"), state: "stored" };
      expect(await table.complete(arrived("u.2"))).toEqual(whole);
      expect(await table.complete({ ...arrived("u.2"), seenMs: 9 })).toEqual(whole);
      expect(await table.find("u", ["b", "a", "a"])).toEqual([whole]);
      expect(await table.findLog("u.2")).toEqual(whole);
      expect(await table.usage("u")).toEqual({ bytes: 5, arriving: 0 });
      expect(await table.readPieces("u.2", 1, 10)).toHaveLength(1);
    });

    keeps("answers the one that has the id already", async (table, store) => {
      const first = await stored(store, "u.2", { attachmentId: "a" });
      const second = await begun(store, "u.3", { attachmentId: "a" });
      expect(await table.complete(arrived("u.3"))).toEqual(first);
      expect(await table.findLog("u.3")).toEqual(second);
      expect(await stored(store, "v.2", { attachmentId: "a" })).toMatchObject({ log: "v.2", state: "stored" });
      await table.change("u.2", { seenMs: 0, state: "doomed" });
      expect(await table.find("u", ["a"])).toEqual([]);
      expect(await table.complete(arrived("u.3"))).toMatchObject({ log: "u.3", state: "stored" });
      expect(await table.find("u", ["a"])).toMatchObject([{ log: "u.3" }]);
    });

    keeps("lets one of many with the same id win, also in several processes", async () => {
      const databases = await subject.openTogether(3);
      const stores = (databases.length > 0 ? databases : [subject.database]).map((one) => one.namespace("default"));
      const [store] = stores as [(typeof stores)[number]];
      const logs = Array.from({ length: 12 }, (_, i) => `u.${i + 2}`);
      for (const log of logs) await begun(store, log, { attachmentId: "a" });
      const answers = await Promise.all(
        logs.map((log, i) => stores[i % stores.length]?.attachments?.complete(arrived(log))),
      );
      const found = await store.attachments?.find("u", ["a"]);
      expect(found).toHaveLength(1);
      expect(answers).toEqual(logs.map(() => found?.[0]));
      const states = (await store.attachments?.list("u", "", ALL))?.map(({ state }) => state) ?? [];
      expect(states.filter((state) => state === "stored")).toHaveLength(1);
      expect(states).toHaveLength(logs.length);
    });

    keeps("is refused where nothing arrives or the session does not live", async (table, store) => {
      await begun(store, "u.2");
      await table.change("u.2", { seenMs: 0, state: "doomed" });
      const dead = await created(store, "dead");
      await begun(store, "dead.2");
      await replaced(store, (await store.readRecordByUid("dead")) ?? dead, { deleted: true });
      for (const log of ["u.2", "u.9", "dead.2"]) expect(await table.complete(arrived(log)), log).toBe("gone");
      expect(await table.findLog("dead.2")).toMatchObject({ state: "arriving", size: 0 });
      expect(await table.findLog("u.2")).toMatchObject({ state: "doomed", size: 0 });
    });
  });
}
