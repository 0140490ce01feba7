import { describe, expect, it } from "vitest";
import type { NextRecord, SessionRecord } from "../../../src/storage/history/log-store.js";
import { canonical, created, next, record, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const T0_MS = T0 / 1000;

export function describeRecords(subject: LogStoreSubject): void {
  describe("createRecord", () => {
    it("adds a record with forks 0, and readRecord returns all of it", async () => {
      const full = fullRecord("u1");
      expect(await subject.store.createRecord(full)).toBe("created");
      const read = await subject.store.readRecord(full.sessionId);
      expect(canonical(read as never)).toBe(canonical({ ...full, forks: 0 } as never));
    });

    it("returns exists and stores nothing while a living record has the session id", async () => {
      await created(subject.store, "u1", { sessionId: "s" });
      expect(await subject.store.createRecord(record("u2", { sessionId: "s" }))).toBe("exists");
      expect((await subject.store.readRecord("s"))?.uid).toBe("u1");
      expect(await subject.store.readRecordByUid("u2")).toBeNull();
    });

    it("returns created when the call is repeated, and changes nothing", async () => {
      const first = await created(subject.store, "u1", { sessionId: "s" });
      await replaced(subject.store, first, { title: "changed" });
      await subject.store.addFork("u1", 1);
      expect(await subject.store.createRecord(record("u1", { sessionId: "s" }))).toBe("created");
      expect(await subject.store.readRecord("s")).toMatchObject({ title: "changed", revision: 1, forks: 1 });
    });

    it("frees a session id once its record is a tombstone", async () => {
      const first = await created(subject.store, "u1", { sessionId: "s" });
      await replaced(subject.store, first, { deleted: true });
      expect(await subject.store.readRecord("s")).toBeNull();
      await created(subject.store, "u2", { sessionId: "s" });
      expect((await subject.store.readRecord("s"))?.uid).toBe("u2");
    });

    it("lets one of many concurrent calls win", async () => {
      const uids = Array.from({ length: 10 }, (_, i) => `u${i}`);
      const outcomes = await Promise.all(
        uids.map((uid) => subject.store.createRecord(record(uid, { sessionId: "s" }))),
      );
      expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
      expect((await subject.store.readRecord("s"))?.uid).toBe(uids[outcomes.indexOf("created")]);
    });

    it("keeps the values it was given, even if the caller changes them later", async () => {
      const metadata = { nested: { value: 1 } };
      await subject.store.createRecord(record("u1", { sessionId: "s", metadata }));
      metadata.nested.value = 2;
      expect((await subject.store.readRecord("s"))?.metadata).toEqual({ nested: { value: 1 } });
    });
  });

  describe("publishRecord", () => {
    const hidden = { sessionId: "s", deleted: true, restoring: true } as const;
    const whole = { sessionId: "s", title: "Whole", segments: [{ log: "u1.1", first: 1, last: 2 }] };

    it("shows a record that was hidden while it was being restored, with the stored forks and the next revision", async () => {
      await subject.store.createRecord(record("u1", hidden));
      await subject.store.addFork("u1", 1);
      expect(await subject.store.readRecord("s")).toBeNull();
      expect(await subject.store.listRecords({ parentId: "" }, { limit: 10 })).toEqual([]);
      expect(await subject.store.scanRecords("", 10)).toMatchObject([{ uid: "u1", restoring: true }]);
      expect(await subject.store.publishRecord(record("u1", whole))).toBe("published");
      const stored = await subject.store.readRecord("s");
      expect(stored).toMatchObject({ uid: "u1", ...whole, revision: 1, forks: 1 });
      expect(stored?.restoring).toBeUndefined();
      expect(await subject.store.listRecords({ parentId: "" }, { limit: 10 })).toHaveLength(1);
    });

    it("returns published when the call is repeated, and changes nothing", async () => {
      await subject.store.createRecord(record("u1", hidden));
      await subject.store.publishRecord(record("u1", whole));
      const stored = (await subject.store.readRecord("s")) as SessionRecord;
      await replaced(subject.store, stored, { title: "changed" });
      expect(await subject.store.publishRecord(record("u1", whole))).toBe("published");
      expect(await subject.store.readRecord("s")).toMatchObject({ title: "changed", revision: 2 });
    });

    it("returns exists and changes nothing when a living record has the session id by now", async () => {
      await created(subject.store, "u2", { sessionId: "s" });
      expect(await subject.store.createRecord(record("u1", hidden))).toBe("created");
      expect(await subject.store.publishRecord(record("u1", whole))).toBe("exists");
      expect((await subject.store.readRecord("s"))?.uid).toBe("u2");
      expect(await subject.store.scanRecords("", 1)).toMatchObject([{ uid: "u1", restoring: true }]);
    });

    it("returns gone for a record that is a tombstone, does not exist, or is no longer being restored", async () => {
      expect(await subject.store.publishRecord(record("u1", whole))).toBe("gone");
      const living = await created(subject.store, "u2", { sessionId: "t" });
      await replaced(subject.store, living, { deleted: true });
      expect(await subject.store.publishRecord(record("u2", { sessionId: "t" }))).toBe("gone");
      await subject.store.createRecord(record("u3", { ...hidden, sessionId: "v" }));
      const [abandoned] = await subject.store.scanRecords("u2", 1);
      await replaced(subject.store, abandoned as SessionRecord, { deleted: true, restoring: undefined });
      expect(await subject.store.publishRecord(record("u3", { sessionId: "v" }))).toBe("gone");
      expect(await subject.store.readRecord("v")).toBeNull();
    });
  });

  describe("readRecord", () => {
    it("returns null for an unknown session id", async () => {
      expect(await subject.store.readRecord("nobody")).toBeNull();
    });
  });

  describe("raiseForks", () => {
    it("returns null for an unknown session id", async () => {
      expect(await subject.store.raiseForks("nobody")).toBeNull();
    });

    it("adds 1 to forks and returns the record with its revision unchanged", async () => {
      await created(subject.store, "u1", { sessionId: "s" });
      await Promise.all([1, 2, 3].map(() => subject.store.raiseForks("s")));
      expect(await subject.store.readRecord("s")).toMatchObject({ uid: "u1", forks: 3, revision: 0 });
    });

    it("does not raise a tombstone", async () => {
      const living = await created(subject.store, "u1", { sessionId: "s" });
      await replaced(subject.store, living, { deleted: true });
      expect(await subject.store.raiseForks("s")).toBeNull();
      expect(await subject.store.scanRecords("", 10)).toMatchObject([{ uid: "u1", forks: 0 }]);
    });
  });

  describe("readRecordByUid", () => {
    it("returns living records and tombstones, and null for unknown uids", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s" });
      expect(await subject.store.readRecordByUid("u1")).toEqual(before);
      expect(await subject.store.readRecordByUid("s")).toBeNull();
      const dead = await replaced(subject.store, before, { deleted: true });
      expect(await subject.store.readRecordByUid("u1")).toEqual(dead);
      await subject.store.deleteRecord("u1");
      expect(await subject.store.readRecordByUid("u1")).toBeNull();
    });
  });

  describe("replaceRecord", () => {
    it("replaces everything at the given revision and returns what is stored then", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s", metadata: { old: true } });
      const { metadata: _metadata, ...full } = fullRecord("u1");
      const wanted = { ...full, sessionId: "s", revision: 1 };
      const after = await subject.store.replaceRecord(wanted, before.revision);
      expect(canonical(after as never)).toBe(canonical({ ...wanted, forks: 0 } as never));
      expect(await subject.store.readRecord("s")).toEqual(after);
    });

    it("returns null and changes nothing at another revision, and for an unknown uid", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s" });
      const after = await replaced(subject.store, before, { title: "one" });
      expect(await subject.store.replaceRecord(next(before, { title: "late" }), 0)).toBeNull();
      expect(await subject.store.replaceRecord(next(after, { title: "early", revision: 3 }), 2)).toBeNull();
      expect(await subject.store.replaceRecord(record("u2", { revision: 1 }), 0)).toBeNull();
      expect(await subject.store.readRecord("s")).toEqual(after);
    });

    it("lets one of many concurrent calls win", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s" });
      const titles = Array.from({ length: 10 }, (_, i) => `title ${i}`);
      const outcomes = await Promise.all(
        titles.map((title) => subject.store.replaceRecord(next(before, { title }), 0)),
      );
      const won = outcomes.filter((outcome) => outcome !== null);
      expect(won).toHaveLength(1);
      expect((await subject.store.readRecord("s"))?.title).toBe(won[0]?.title);
    });

    it("never touches forks", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s" });
      await subject.store.addFork("u1", 1);
      expect(await replaced(subject.store, before, { title: "new" })).toMatchObject({ forks: 1 });
      expect(await subject.store.readRecord("s")).toMatchObject({ forks: 1, title: "new" });
    });

    it("makes a tombstone, which frees the session id", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s" });
      const after = await replaced(subject.store, before, { deleted: true });
      expect(after).toMatchObject({ deleted: true, markedAtMs: null });
      expect(await subject.store.readRecord("s")).toBeNull();
      expect(await subject.store.scanRecords("", 10)).toEqual([after]);
    });

    it("replaces a tombstone, too, and does not affect the session that has its id now", async () => {
      const before = await created(subject.store, "u1", { sessionId: "s", sources: ["u0"] });
      const dead = await replaced(subject.store, before, { deleted: true });
      await created(subject.store, "u2", { sessionId: "s" });
      const cleared = await replaced(subject.store, dead, { sources: [] });
      expect(cleared).toMatchObject({ sources: [], revision: 2 });
      expect(cleared.deleted).toBe(true);
      expect((await subject.store.readRecord("s"))?.uid).toBe("u2");
    });
  });

  describe("addFork", () => {
    it("adds to forks, and loses no concurrent call", async () => {
      await created(subject.store, "u1", { sessionId: "s" });
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => subject.store.addFork("u1", 1)));
      expect(outcomes).toEqual(Array(10).fill(true));
      expect(await subject.store.addFork("u1", -1)).toBe(true);
      expect(await subject.store.readRecord("s")).toMatchObject({ forks: 9, revision: 0 });
    });

    it("changes nothing without a record", async () => {
      await created(subject.store, "u1", { sessionId: "s" });
      expect(await subject.store.addFork("u2", 1)).toBe(false);
      expect(await subject.store.readRecord("s")).toMatchObject({ forks: 0 });
    });

    it("works on tombstones", async () => {
      const before = await created(subject.store, "u1");
      await replaced(subject.store, before, { deleted: true });
      expect(await subject.store.addFork("u1", 1)).toBe(true);
      expect(await subject.store.scanRecords("", 10)).toMatchObject([{ uid: "u1", forks: 1 }]);
    });
  });
}

/** A record with something in every field. */
function fullRecord(uid: string): NextRecord {
  return record(uid, {
    sessionId: "full",
    parentId: "parent",
    forkPointId: "fork point",
    inheritedCount: 7,
    title: "Title",
    metadata: { a: [1, null, { "b.c": "$d" }], big: 1.5e300, deep: { er: true } },
    labels: { "a.b": "$c", plain: "" },
    owner: "$owner.of \u{1F600}",
    ticketGeneration: 3,
    creatorKey: "$key.of",
    isCounted: true,
    expireTimeMicros: T0 + 1_000_000,
    createTimeMicros: T0 - 5,
    updateTimeMicros: T0 + 5,
    origin: { kind: "fork", sourceSessionId: "source", sourceUid: "u0", upToMessageId: "m4" },
    sessionRevision: 3,
    segments: [
      { log: "u0.1", first: 1, last: 4 },
      { log: `${uid}.1`, first: 1, last: 3 },
    ],
    log: `${uid}.2`,
    lastTimestampMicros: T0 - 1,
    ancestry: [
      { log: "u0.1", first: 1, last: 2, sessionId: "source" },
      { log: "u8.1", first: 3, last: 4, sessionId: "parent", uid: "u9" },
    ],
    undo: { segments: [{ log: "u0.1", first: 1, last: 9 }], lastTimestampMicros: T0 - 2 },
    namedLogs: [
      { log: `${uid}.3`, purpose: "older" },
      { log: `${uid}.4`, purpose: "copy", markedAtMs: T0_MS },
    ],
    dropped: [
      { log: `${uid}.5`, first: 2, last: 3 },
      { log: `${uid}.6`, first: 1, last: Number.MAX_SAFE_INTEGER, markedAtMs: T0_MS + 1, bytes: 2 ** 33 },
    ],
    rollovers: { count: 2, atMs: 1_750_000_000_123 },
    edits: [
      { revision: 2, kept: 4 },
      { revision: 3, kept: 0, erased: true, single: { kind: "updated" } },
      { revision: 4, kept: 2, single: { kind: "deleted", messageId: "$m.1" } },
    ],
    sources: ["u0", "u9"],
  });
}
