import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { Entry, LogStore, Newest, Segment, SessionRecord } from "../../../src/storage/history/log-store.js";
import { allComparable, canonical, created, entry, fill, record, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";
import { without } from "./without.js";

const ALL = Number.MAX_SAFE_INTEGER;
const HISTORY_LIMITS = [1, 2, 3, 7, 100] as const;

export function describeNewest(subject: LogStoreSubject): void {
  const read = (sessionId: string, limit: number, maxBytes = ALL) =>
    readNewest(subject.store, sessionId, { limit, maxBytes });
  const place = ({ log, seq }: Pick<Entry, "log" | "seq">) => `${log} ${seq}`;
  const places = async (sessionId: string, limit: number, maxBytes?: number) => {
    const { messages } = (await read(sessionId, limit, maxBytes)) as Newest;
    return { places: messages.entries.map(place), cut: messages.cut };
  };
  /** A session whose messages are in logs of its own and of others, and in no other order than that of the record. */
  const scattered = async (): Promise<SessionRecord> => {
    const segments: Segment[] = [
      { log: "b.2", first: 2, last: 4 },
      { log: "a.1", first: 8, last: 8 },
      { log: "u.0", first: 1, last: 2 },
      { log: "b.2", first: 5, last: 6 },
      { log: "b.1", first: 3, last: 5 },
    ];
    const undo = { segments: [{ log: "b.1", first: 7, last: 9 }], lastTimestampMicros: T0 };
    const ancestry = [{ log: "a.1", first: 1, last: 7, sessionId: "a" }];
    await created(subject.store, "u", { sessionId: "s", segments, undo, ancestry, lastTimestampMicros: T0 + 5 });
    for (const log of ["a.1", "b.1", "b.2", "u.0"]) await fill(subject.store, log, 1, 9);
    await fill(subject.store, "u.1", 1, 3);
    return (await subject.store.readRecord("s")) as SessionRecord;
  };
  const allPlaces = "u.1 3,u.1 2,u.1 1,b.1 5,b.1 4,b.1 3,b.2 6,b.2 5,u.0 2,u.0 1,a.1 8,b.2 4,b.2 3,b.2 2".split(",");

  describe("readNewest", () => {
    const test = (name: string, run: () => Promise<void>) =>
      it(name, async (context) => {
        if (!subject.store.readNewest) return context.skip("the store leaves it out");
        await run();
      });

    test("answers null where readRecord does", async () => {
      expect(await read("s", 10)).toBeNull();
      const before = await created(subject.store, "u", { sessionId: "s" });
      await subject.store.createRecord(record("r", { sessionId: "restored", deleted: true, restoring: true }));
      expect(await read("restored", 10)).toBeNull();
      const other = subject.database.namespace("other");
      expect(await readNewest(other, "s", { limit: 10, maxBytes: ALL })).toBeNull();
      await replaced(subject.store, before, { deleted: true });
      expect(await read("s", 10)).toBeNull();
    });

    test("answers for the living session when a deleted one had the same id", async () => {
      await fill(subject.store, "u.1", 1, 3);
      await replaced(subject.store, (await subject.store.readRecordByUid("u")) as SessionRecord, { deleted: true });
      const now = await created(subject.store, "v", { sessionId: "session of u" });
      await fill(subject.store, "v.1", 1, 2, (seq) => ({ id: `new ${seq}` }));
      const newest = await read("session of u", 10);
      expect(newest?.record.uid).toBe(now.uid);
      expect(newest?.messages.entries.map(({ id }) => id)).toEqual(["new 2", "new 1"]);
    });

    test("answers the record and the end of its open log as readRecord and tail do", async () => {
      const same = async (sessionId: string) => {
        const stored = await subject.store.readRecord(sessionId);
        const { isNamed: _isNamed, ...end } = await subject.store.tail(stored?.log ?? "");
        const newest = await read(sessionId, 2);
        expect(canonical(newest?.record as never)).toBe(canonical(stored as never));
        expect(newest?.end).toEqual(end);
        return end;
      };
      await created(subject.store, "u", { title: "nul\u0000inside", labels: { a: "1" } });
      expect(await same("session of u")).toEqual({ last: null, state: "open" });
      await fill(subject.store, "u.1", 1, 5);
      expect(await same("session of u")).toMatchObject({ last: { seq: 5, id: "m5" }, state: "open" });
      await subject.store.seal("u.1");
      expect(await same("session of u")).toMatchObject({ last: { seq: 5 }, state: "sealed" });
      expect((await places("session of u", 2)).places).toEqual(["u.1 5", "u.1 4"]);
      await created(subject.store, "e");
      await subject.store.seal("e.1");
      expect(await same("session of e")).toEqual({ last: null, state: "sealed" });
    });

    test("returns the last messages, the newest first and as readRange does", async () => {
      await created(subject.store, "u", { sessionId: "s" });
      const more = (seq: number) => ({ id: `\u0000${seq}`, originSessionId: "o", timestampMicros: -seq });
      const stored = await fill(subject.store, "u.1", 1, 5, more);
      for (const limit of [1, 4, 5, 6, 1000]) {
        const { messages } = (await read("s", limit)) as Newest;
        expect(allComparable(messages.entries)).toEqual(allComparable(stored.toReversed().slice(0, limit)));
        expect(messages.cut).toBe(false);
      }
    });

    test("goes on in the segments, which may be of other sessions, and shows nothing else of their logs", async () => {
      const { revision } = await scattered();
      for (let limit = 1; limit <= allPlaces.length + 1; limit++) {
        expect(await places("s", limit)).toEqual({ places: allPlaces.slice(0, limit), cut: false });
      }
      expect((await read("s", 100))?.record.revision).toBe(revision);
    });

    test("begins in the segments when the open log is empty", async () => {
      await fill(subject.store, "a.1", 1, 9);
      await created(subject.store, "u", { sessionId: "s", segments: [{ log: "a.1", first: 1, last: 6 }] });
      expect(await places("s", 2)).toEqual({ places: ["a.1 6", "a.1 5"], cut: false });
      expect((await read("s", 2))?.end).toEqual({ last: null, state: "open" });
      await subject.store.seal("u.1");
      expect((await places("s", 100)).places).toHaveLength(6);
    });

    test("ends after maxBytes, in whatever log that is, but returns at least one message", async () => {
      const text = "x".repeat(10_000);
      const long = () => ({ parts: [{ id: "", type: "text", text }] });
      await fill(subject.store, "a.1", 1, 20, long);
      await created(subject.store, "u", { sessionId: "s", segments: [{ log: "a.1", first: 1, last: 20 }] });
      expect(await places("s", 100, 1)).toEqual({ places: ["a.1 20"], cut: true });
      await fill(subject.store, "u.1", 1, 5, long);
      expect(await places("s", 100, 1)).toEqual({ places: ["u.1 5"], cut: true });
      const all = [5, 4, 3, 2, 1].map((seq) => `u.1 ${seq}`);
      all.push(...Array.from({ length: 20 }, (_, i) => `a.1 ${20 - i}`));
      for (const maxBytes of [30_000, 50_500, 100_000]) {
        const some = await places("s", 100, maxBytes);
        expect(some.places).toEqual(all.slice(0, some.places.length));
        expect(some.places.length).toBeGreaterThan(maxBytes / 20_000);
        expect(some.places.length).toBeLessThan(maxBytes / 5000);
        expect(some.cut).toBe(true);
      }
      expect(await places("s", 2, 50_000)).toEqual({ places: all.slice(0, 2), cut: false });
      for (const maxBytes of [10_000_000, Number.POSITIVE_INFINITY])
        expect(await places("s", 100, maxBytes)).toEqual({ places: all, cut: false });
    });

    test("ends before a message that is missing, without reporting a cut", async () => {
      await scattered();
      await subject.store.deleteEntries({ log: "b.1", first: 4, last: 4 }, 10);
      expect(await places("s", 100)).toEqual({ places: allPlaces.slice(0, 4), cut: false });
      await subject.store.deleteEntries({ log: "b.1", first: 5, last: 5 }, 10);
      expect(await places("s", 100)).toEqual({ places: allPlaces.slice(0, 3), cut: false });
      await subject.store.deleteEntries({ log: "u.1", first: 1, last: 2 }, 10);
      expect(await places("s", 2)).toEqual({ places: allPlaces.slice(0, 1), cut: false });
    });

    test("shows only whole batches", async () => {
      await created(subject.store, "u", { sessionId: "s", segments: [] });
      await fill(subject.store, "u.1", 1, 2);
      if (!subject.harness.atomicAppend) {
        await subject.store.append("u.1", 3, [entry("u.1", 3, { remaining: 1 })]);
        expect((await read("s", 10))?.end).toMatchObject({ last: { seq: 2 }, state: "unfinished" });
        expect((await places("s", 1)).places).toEqual(["u.1 2"]);
      }
      expect((await places("s", 10)).places).toEqual(["u.1 2", "u.1 1"]);
    });

    test("sees the record, the end and the messages at one moment", async () => {
      let current = await created(subject.store, "u", { sessionId: "s" });
      let isWriting = true;
      // The title counts what is appended right after it was set, so it is never behind, and never ahead by two.
      const write = async () => {
        for (let seq = 1; seq <= 60; seq++) {
          current = await replaced(subject.store, current, { title: `${seq}` });
          await setImmediate();
          await subject.store.append("u.1", seq, [entry("u.1", seq)]);
        }
        isWriting = false;
      };
      const seen: Newest[] = [];
      const readAll = async () => {
        while (isWriting) {
          seen.push((await read("s", 3)) as Newest);
          await setImmediate();
        }
      };
      await Promise.all([write(), readAll(), readAll(), readAll()]);
      expect(seen.length).toBeGreaterThan(0);
      for (const { record: at, end, messages } of seen) {
        const last = end.last?.seq ?? 0;
        expect([last, last + 1]).toContain(Number(at.title));
        const shown = Array.from({ length: Math.min(3, last) }, (_, i) => `u.1 ${last - i}`);
        expect(messages.entries.map(place)).toEqual(shown);
      }
    });

    test("gives histories the answers that they have without it", async () => {
      const { store } = subject;
      await makeHistories(store);
      for (const pageBytes of [4_000_000, 3000]) {
        const own = new LogHistoryProvider(store, { limits: { pageBytes } });
        const plain = new LogHistoryProvider(without(store, "readNewest"), { limits: { pageBytes } });
        const { sessions } = await plain.listSessions({ parentId: "", limit: 100 });
        expect(sessions.length).toBeGreaterThan(4);
        for (const { sessionId } of sessions) {
          for (const limit of HISTORY_LIMITS) {
            expect(await answers(own, sessionId, limit)).toEqual(await answers(plain, sessionId, limit));
          }
        }
      }
    });
  });
}

function readNewest(store: LogStore, ...args: Parameters<NonNullable<LogStore["readNewest"]>>): Promise<Newest | null> {
  if (!store.readNewest) throw new Error("The store leaves readNewest out");
  return store.readNewest(...args);
}

/** Everything that begins with the newest messages, page by page, as text. */
async function answers(provider: LogHistoryProvider, sessionId: string, limit: number): Promise<string[]> {
  const all: string[] = [];
  const note = (value: unknown) => all.push(canonical(JSON.parse(JSON.stringify(value))));
  for (const includeAncestors of [false, true]) {
    let page = await provider.listMessages(sessionId, { limit, newestFirst: true, includeAncestors });
    for (;;) {
      for (const message of page.messages) note({ ...message, parts: message.parts, metadata: message.metadata });
      if (!page.next) break;
      const { next: cursor } = page;
      page = await provider.listMessages(sessionId, { limit, newestFirst: true, includeAncestors, cursor });
    }
  }
  const { session, messages, next } = await provider.loadSession(sessionId, { limit });
  note({ session, ids: messages.map(({ id, position }) => [id, position]), next });
  return all;
}

/** Makes sessions whose newest messages are in one log, in several, in those of others, or nowhere. */
async function makeHistories(store: LogStore): Promise<void> {
  const provider = new LogHistoryProvider(store, { maxSegments: 6, maxLogEntries: 9 });
  const message = (id: string, timestampMicros?: number, length = 1) => ({
    id,
    role: "user",
    timestampMicros,
    parts: [{ id: "", type: "text", text: id.repeat(length) }],
  });
  const say = (sessionId: string, first: number, last: number, length?: number) =>
    provider.logMessages(
      sessionId,
      Array.from({ length: last - first + 1 }, (_, i) => message(`m${first + i}`, T0 + 10 * (first + i), length)),
    );
  for (const sessionId of ["empty", "plain", "long", "edited"]) await provider.createSession({ sessionId });
  await say("plain", 1, 6);
  await say("long", 1, 12, 200);
  await say("edited", 1, 5);
  await provider.forkConversation("plain", "inherited", { as: "fork" });
  await provider.forkConversation("plain", "forked", { as: "fork", upToMessageId: "m4" });
  await say("forked", 7, 9);
  await provider.forkConversation("long", "deep", { as: "share" });
  await provider.createSession({ sessionId: "child", parentId: "deep" });
  await say("child", 20, 22, 200);
  await provider.updateMessage("edited", "m3", { role: "tool" });
  await provider.deleteMessage("edited", "m2");
  await provider.logMessages("edited", [message("older", T0 + 11)]);
  await provider.truncateMessages("long", "m10", { keepForUnrevert: true });
  await provider.truncateMessages("plain", null);
  await provider.deleteSession("empty");
  await provider.createSession({ sessionId: "empty" });
}
