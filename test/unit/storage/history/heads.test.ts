import { beforeEach, describe, expect, it } from "vitest";
import { HistoryContext } from "../../../../src/storage/history/heads.js";
import type { LogStore, SessionRecord } from "../../../../src/storage/history/log-store.js";

const STALE_MS = 60_000;

let clockMs: number;
let knownMs: number;
let records: Map<string, SessionRecord>;

beforeEach(() => {
  clockMs = 1000;
  knownMs = 1000;
  records = new Map(["a", "b", "c"].map((sessionId) => [sessionId, recordOf(sessionId)]));
});

function recordOf(sessionId: string, more: Partial<SessionRecord> = {}): SessionRecord {
  const start = { uid: `${sessionId}1`, sessionId, segments: [], log: `${sessionId}1.1`, revision: 1 };
  return { ...start, ...more } as unknown as SessionRecord;
}

function contextOf({ tellsTime }: { readonly tellsTime: boolean }): HistoryContext {
  const store = {
    ...(tellsTime && { knownTimeMs: () => knownMs }),
    readRecord: async (sessionId: string) => records.get(sessionId) ?? null,
    tail: async () => ({ last: null, state: "open", isNamed: true }),
  };
  return new HistoryContext(store as unknown as LogStore, { maxHeads: 2, staleMs: STALE_MS, clockMs: () => clockMs });
}

describe("cached heads", () => {
  it("are those of the sessions that were loaded last", async () => {
    const context = contextOf({ tellsTime: false });
    for (const sessionId of ["a", "b"]) await context.load(sessionId);
    expect(["a", "b"].map((id) => context.cached(id)?.record.sessionId)).toEqual(["a", "b"]);
    for (const sessionId of ["a", "c"]) await context.load(sessionId);
    expect(["a", "b", "c"].map((id) => context.cached(id)?.record.sessionId)).toEqual(["a", undefined, "c"]);
  });

  it("are forgotten on request, and when their session is found to be gone", async () => {
    const context = contextOf({ tellsTime: false });
    for (const sessionId of ["a", "b"]) await context.load(sessionId);
    context.forget("a");
    records.delete("b");
    expect(await context.load("b")).toBeNull();
    expect([context.cached("a"), context.cached("b")]).toEqual([null, null]);
  });

  it("do not expire when the store checks the names of logs itself", async () => {
    const context = contextOf({ tellsTime: false });
    await context.load("a");
    clockMs += 100 * STALE_MS;
    expect(context.cached("a")).not.toBeNull();
  });

  it("expire after a minute by the process's or the store's clock when the store does not check names", async () => {
    const context = contextOf({ tellsTime: true });
    await context.load("a");
    clockMs += STALE_MS;
    knownMs += STALE_MS;
    expect(context.cached("a")).not.toBeNull();
    clockMs += 1;
    expect(context.cached("a")).toBeNull();
    clockMs -= 1;
    expect(context.cached("a")).not.toBeNull();
    knownMs += 1;
    expect(context.cached("a")).toBeNull();
  });
});

describe("a record", () => {
  it("is current until it changes, is deleted, or another session has its id", async () => {
    const context = contextOf({ tellsTime: false });
    const read = recordOf("a");
    expect(await context.isCurrent(read)).toBe(true);
    records.set("a", recordOf("a", { revision: 2 }));
    expect(await context.isCurrent(read)).toBe(false);
    records.set("a", recordOf("a", { uid: "a2" }));
    expect(await context.isCurrent(read)).toBe(false);
    records.delete("a");
    expect(await context.isCurrent(read)).toBe(false);
  });

  it("that was just created has an empty, open log", () => {
    const head = contextOf({ tellsTime: false }).rememberEmpty(recordOf("a", { lastTimestampMicros: 7 }), 5);
    expect(head).toMatchObject({ state: "open", seq: 0, count: 0, lastId: null, lastTimestampMicros: null, atMs: 5 });
  });
});
