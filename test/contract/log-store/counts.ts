import { describe, expect, it } from "vitest";
import type { UsageFilter } from "../../../src/storage/history/log-store.js";
import { created, fill, next, ODD_TEXTS, record, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeCounts(subject: LogStoreSubject): void {
  const usage = (filter: UsageFilter = {}) => subject.store.usage(filter);
  const bytes = async (filter?: UsageFilter) => (await usage(filter)).bytes;
  const counted = { isCounted: true } as const;

  describe("addBytes", () => {
    it("adds to the counted bytes of several records, and subtracts", async () => {
      for (const owner of ["ada", "bob", "cai"]) await created(subject.store, `u-${owner}`, { ...counted, owner });
      await subject.store.addBytes(new Map(Object.entries({ "u-ada": 100, "u-bob": 7 })));
      await subject.store.addBytes(new Map([["u-ada", -30]]));
      const all = await Promise.all(["ada", "bob", "cai"].map((owner) => bytes({ owner })));
      expect(all).toEqual([70, 7, 0]);
      expect(await usage()).toEqual({ sessions: 3, bytes: 77, uncounted: 0 });
    });

    it("never makes a count fall below 0", async () => {
      await created(subject.store, "u1", counted);
      await subject.store.addBytes(new Map([["u1", 5]]));
      await subject.store.addBytes(new Map([["u1", -9]]));
      expect(await bytes()).toBe(0);
      await subject.store.addBytes(new Map([["u1", 3]]));
      expect(await bytes()).toBe(3);
    });

    it("leaves alone records that are missing or not counted, and accepts an empty map", async () => {
      await created(subject.store, "u1");
      await subject.store.addBytes(
        new Map([
          ["u1", 5],
          ["nobody", 6],
        ]),
      );
      await subject.store.addBytes(new Map());
      expect(await usage()).toEqual({ sessions: 1, bytes: 0, uncounted: 1 });
      expect(await subject.store.scanRecords("", 9)).toHaveLength(1);
    });

    it("loses no concurrent call", async () => {
      await created(subject.store, "u1", counted);
      await created(subject.store, "u2", counted);
      const orders = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? ["u1", "u2"] : ["u2", "u1"]));
      await Promise.all(orders.map((uids) => subject.store.addBytes(new Map(uids.map((uid) => [uid, 10])))));
      expect(await bytes()).toBe(240);
    });

    it("changes nothing else of a record", async () => {
      const before = await created(subject.store, "u1", { ...counted, labels: { a: "1" } });
      await subject.store.addBytes(new Map([["u1", 5]]));
      expect(await subject.store.readRecordByUid("u1")).toEqual(before);
      expect(await replaced(subject.store, before, { title: "new" })).toMatchObject({ revision: 1 });
    });

    it("keeps large counts exact", async () => {
      await created(subject.store, "u1", counted);
      await subject.store.addBytes(new Map([["u1", 2 ** 50]]));
      await subject.store.addBytes(new Map([["u1", 1]]));
      expect(await bytes()).toBe(2 ** 50 + 1);
    });
  });

  describe("the counted bytes of a record", () => {
    it("are kept by replaceRecord, publishRecord and a repeated createRecord", async () => {
      const before = await created(subject.store, "u1", { ...counted, sessionId: "s" });
      await subject.store.addBytes(new Map([["u1", 5]]));
      await replaced(subject.store, before, { title: "new" });
      expect(await bytes()).toBe(5);
      await subject.store.createRecord(record("u1", { ...counted, sessionId: "s" }));
      expect(await bytes()).toBe(5);
      const hidden = { ...counted, sessionId: "t", deleted: true, restoring: true } as const;
      await subject.store.createRecord(record("u2", hidden));
      await subject.store.addBytes(new Map([["u2", 7]]));
      expect(await usage()).toEqual({ sessions: 1, bytes: 5, uncounted: 0 });
      await subject.store.publishRecord(record("u2", { ...counted, sessionId: "t" }));
      expect(await usage()).toEqual({ sessions: 2, bytes: 12, uncounted: 0 });
    });

    it("are not there in a record that is not counted, whatever replaces it", async () => {
      const before = await created(subject.store, "u1");
      await replaced(subject.store, before, counted);
      expect(await usage()).toEqual({ sessions: 1, bytes: 0, uncounted: 1 });
    });
  });

  describe("setBytes", () => {
    it("sets the counted bytes of records that exist, counted or not", async () => {
      await created(subject.store, "u1", { owner: "ada" });
      await created(subject.store, "u2", counted);
      await subject.store.addBytes(new Map([["u2", 100]]));
      const given = new Map([
        ["u1", 11],
        ["u2", 22],
        ["nobody", 33],
      ]);
      await subject.store.setBytes(given);
      await subject.store.setBytes(given);
      await subject.store.setBytes(new Map());
      expect(await usage()).toEqual({ sessions: 2, bytes: 33, uncounted: 0 });
      await subject.store.addBytes(new Map([["u1", 1]]));
      expect(await bytes({ owner: "ada" })).toBe(12);
      expect(await subject.store.readRecordByUid("nobody")).toBeNull();
    });
  });

  describe("entryBytes", () => {
    it("sums up the stored bodies in ranges, without seals and what is missing", async () => {
      const texts = ["", "plain", ...ODD_TEXTS];
      const parts = (seq: number) => ({ parts: [{ id: "", type: "text", text: texts[seq - 1] ?? "" }] });
      const first = await fill(subject.store, "u1.1", 1, texts.length, parts);
      const second = await fill(subject.store, "u2.1", 1, 3);
      await subject.store.seal("u2.1");
      const sizes = (all: typeof first) => all.map(({ body }) => Buffer.byteLength(body.encode()));
      const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
      const whole = { log: "u2.1", first: 1, last: Number.MAX_SAFE_INTEGER };
      expect(await subject.store.entryBytes([{ log: "u1.1", first: 2, last: 5 }])).toBe(sum(sizes(first).slice(1, 5)));
      expect(await subject.store.entryBytes([{ log: "u1.1", first: 1, last: texts.length }, whole])).toBe(
        sum([...sizes(first), ...sizes(second)]),
      );
      await subject.store.deleteEntries({ log: "u2.1", first: 2, last: 2 }, 9);
      expect(await subject.store.entryBytes([whole])).toBe(sum([sizes(second)[0], sizes(second)[2]] as number[]));
      expect(await subject.store.entryBytes([])).toBe(0);
      expect(await subject.store.entryBytes([{ log: "none.1", first: 1, last: 9 }])).toBe(0);
    });
  });

  describe("usage", () => {
    it("counts the living records of the namespace, of an owner, of none, and of a key", async () => {
      const made = [
        { owner: "ada", creatorKey: "web", ...counted },
        { owner: "ada", creatorKey: "app" },
        { owner: "bob", creatorKey: "web", ...counted },
        { ...counted },
        {},
      ];
      for (const [i, more] of made.entries()) await created(subject.store, `u${i}`, more);
      const hidden = { owner: "ada", creatorKey: "web", deleted: true, restoring: true } as const;
      await subject.store.createRecord(record("u8", { ...hidden, ...counted }));
      const dead = await created(subject.store, "u9", { owner: "ada", creatorKey: "web", ...counted });
      const all = new Map([0, 2, 3, 8, 9].map((i) => [`u${i}`, 10 ** (i % 8)]));
      await subject.store.addBytes(all);
      expect(await usage({ owner: "ada" })).toEqual({ sessions: 3, bytes: 11, uncounted: 1 });
      const gone = next(dead, { deleted: true, owner: undefined, updateTimeMicros: T0 + 1 });
      await subject.store.replaceRecord(gone, dead.revision);
      expect(await usage()).toEqual({ sessions: 5, bytes: 1101, uncounted: 2 });
      expect(await usage({ owner: "ada" })).toEqual({ sessions: 2, bytes: 1, uncounted: 1 });
      expect(await usage({ owner: "bob" })).toEqual({ sessions: 1, bytes: 100, uncounted: 0 });
      expect(await usage({ owner: "" })).toEqual({ sessions: 2, bytes: 1000, uncounted: 1 });
      expect(await usage({ owner: "eve" })).toEqual({ sessions: 0, bytes: 0, uncounted: 0 });
      expect(await usage({ key: "web" })).toEqual({ sessions: 2, bytes: 101, uncounted: 0 });
      expect(await usage({ key: "app" })).toEqual({ sessions: 1, bytes: 0, uncounted: 1 });
      expect(await usage({ key: "" })).toEqual({ sessions: 0, bytes: 0, uncounted: 0 });
    });

    it("follows a session to its next owner", async () => {
      const before = await created(subject.store, "u1", { ...counted, owner: "ada" });
      await subject.store.addBytes(new Map([["u1", 5]]));
      await replaced(subject.store, before, { owner: "bob" });
      expect([await bytes({ owner: "ada" }), await bytes({ owner: "bob" })]).toEqual([0, 5]);
    });

    it("keeps namespaces apart", async () => {
      await created(subject.store, "u1", { ...counted, owner: "ada", creatorKey: "web" });
      const other = subject.database.namespace("other");
      await other.addBytes(new Map([["u1", 5]]));
      await other.setBytes(new Map([["u1", 5]]));
      for (const filter of [{}, { owner: "ada" }, { key: "web" }]) {
        expect(await usage(filter)).toEqual({ sessions: 1, bytes: 0, uncounted: 0 });
        expect(await other.usage(filter)).toEqual({ sessions: 0, bytes: 0, uncounted: 0 });
      }
    });
  });
}
