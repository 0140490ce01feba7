import { describe, expect, it } from "vitest";
import type { AttachmentTable, LogStore } from "../../../src/storage/history/log-store.js";
import { fillNaming, naming, stored } from "./attachment-fixtures.js";
import { created, fill, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** Every read that callers of the API wait for. The sweep and its repair read everything on purpose. */
const READS: Readonly<Record<string, (store: LogStore) => Promise<unknown>>> = {
  "a page in the middle of a log": (store) => store.readRange("u7.1", 40, 60, { limit: 10 }),
  "a page in the middle of a log, newest first": (store) =>
    store.readRange("u7.1", 1, 60, { descending: true, limit: 10 }),
  "the end of a log": (store) => store.tail("u7.1"),
  "the last messages of logs": (store) => store.readLast(["u7.1", "u3.1"]),
  "the newest messages of a session": async (store) =>
    store.readNewest
      ? store.readNewest("session of u7", { limit: 10, maxBytes: 1e6 })
      : store.readRecord("session of u7"),
  "messages by id": (store) => store.findById(["u7.1", "u3.1"], ["m1", "m2"]),
  "a place by time": (store) => store.seqAtTime("u7.1", 1, 90, T0 + 50),
  "a session": (store) => store.readRecord("session of u7"),
  "a session by uid": (store) => store.readRecordByUid("u7"),
  "a page of sessions": (store) => store.listRecords({ parentId: "" }, { limit: 5 }),
  "a later page of sessions": (store) =>
    store.listRecords({ parentId: "" }, { limit: 5, after: { updateTimeMicros: T0 + 9, sessionId: "x" } }),
  "a page of a parent": (store) => store.listRecords({ parentId: "p" }, { limit: 5 }),
  "a page of an owner": (store) => store.listRecords({ parentId: "", owner: "o1" }, { limit: 5 }),
  "a page without an owner": (store) => store.listRecords({ parentId: "", owner: "" }, { limit: 5 }),
  "a page of an owner and a label": (store) =>
    store.listRecords({ parentId: "", labels: ["a=1"], owner: "o1" }, { limit: 5 }),
  "a page of an owner and a parent": (store) => store.listRecords({ parentId: "p", owner: "o1" }, { limit: 5 }),
  "what an owner takes": (store) => store.usage({ owner: "o1" }),
  "what the sessions of a key take": (store) => store.usage({ key: "k" }),
  "what a namespace takes": (store) => store.usage({}),
  "the bytes of entries": (store) => store.entryBytes([{ log: "u7.1", first: 40, last: 60 }]),
  "a page of a label": (store) => store.listRecords({ parentId: "", labels: ["a=1"] }, { limit: 5 }),
};

/** Those of a store that keeps attachments. */
const ATTACHMENT_READS: Readonly<Record<string, (table: AttachmentTable) => Promise<unknown>>> = {
  "pieces of an attachment": (table) => table.readPieces("u7.2", 1, 4),
  "the last piece of an attachment": (table) => table.lastPiece("u7.2"),
  "attachments of a session by their ids": (table) => table.find("u7", ["a", "b"]),
  "the attachment of a log": (table) => table.findLog("u7.2"),
  "a page of a session's attachments": (table) => table.list("u7", "u7.1", 5),
  "attachments that were seen long ago": (table) => table.listSeen("stored", 5, 5),
  "what a session's attachments take": (table) => table.usage("u7"),
  "what names an attachment": (table) => table.namings("u7.2", undefined, 5),
  "what names an attachment, after a place": (table) => table.namings("u7.2", { log: "u3.1", seq: 91 }, 5),
  "what names attachments with some ids": (table) => table.findNamings(["u7.1", "u3.1"], ["a", "b"]),
  "a page of what names attachments": (table) => table.listNamings(["u7.1", "u3.1"], "a", 5),
  "what the entries of a range name": (table) => table.targetsIn({ log: "u7.1", first: 91, last: 92 }, 5),
  "what a session names of others": (table) => table.targetsIn({ foreignTo: "u7" }, 5),
};

export function describeCosts(subject: LogStoreSubject): void {
  describe("reads of tables that nobody has analyzed", () => {
    it("find what they return by a key", async (context) => {
      const { harness, database, store } = subject;
      if (!harness.sentDuring) return context.skip("the harness does not tell which statements a database is sent");
      for (let i = 0; i < 12; i++) {
        const given = { parentId: "p", labels: { a: `${i % 3}` }, owner: i % 4 === 0 ? undefined : `o${i % 4}` };
        await created(store, `u${i}`, { ...given, updateTimeMicros: T0 + i });
        await fill(store, `u${i}.1`, 1, 90, () => ({ remaining: 0 }));
        if (store.attachments === undefined) continue;
        await stored(store, `u${i}.2`, { attachmentId: "a" });
        await fillNaming(store, [naming(`u${i}.1`, 91, ["a", `u${i}.2`], ["b", "u7.2"])]);
      }
      const { attachments } = store;
      const ofAttachments = Object.entries(attachments ? ATTACHMENT_READS : {}).map(
        ([name, read]) => [name, () => read(attachments as AttachmentTable)] as const,
      );
      for (const [name, read] of [...Object.entries(READS), ...ofAttachments]) {
        const sent = await harness.sentDuring(database, () => read(store));
        expect(sent.length, name).toBeGreaterThan(0);
        expect(
          sent.filter(({ scansAll }) => scansAll),
          name,
        ).toEqual([]);
      }
    });
  });
}
