import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import { MessageBody } from "../../../../../src/domain/message-body.js";
import type {
  BackupMessage,
  ReadNumbers,
  RestoredImage,
  SharedRange,
} from "../../../../../src/domain/session-image.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const DAY_MS = 24 * 3600 * 1000;
let nowMs: number;
let database: MemoryLogDatabase;
let provider: LogHistoryProvider;

beforeEach(() => {
  nowMs = 1_750_000_000_000;
  database = new MemoryLogDatabase({ now: () => nowMs });
  provider = new LogHistoryProvider(database.namespace("default"), { nowMicros: () => nowMs * 1000 });
});

describe("restoreSession", () => {
  it("shows a session only when it is complete", async () => {
    const seen: unknown[] = [];
    const outcome = await provider.restoreSession(image([{ first: 1, last: 3 }]), async function* () {
      seen.push(await provider.listSessions({ parentId: "", limit: 10 }));
      yield [message(1), message(2)];
      seen.push(await provider.getSession("s").catch(({ code }) => code));
      yield [message(3)];
    });
    expect(outcome).toMatchObject({ kind: "restored", written: [{ first: 1, last: 3 }] });
    expect(seen).toEqual([{ sessions: [] }, "not_found"]);
    expect((await provider.getSessionMessages("s")).map(({ id }) => id)).toEqual(["m1", "m2", "m3"]);
  });

  it("leaves nothing of a session that it cannot finish, and lowers the count of the source", async () => {
    const shared = await sharedRange("source");
    const failing: ReadNumbers = async function* () {
      yield [message(7)];
      throw new Error("The file cannot be read");
    };
    await expect(provider.restoreSession(image([shared, { first: 7, last: 8 }]), failing)).rejects.toThrow(
      "cannot be read",
    );
    const { records, logs } = database.dump();
    expect(records).toMatchObject([{ sessionId: "source", forks: 0 }]);
    expect(logs.size).toBe(1);
  });

  it("lowers the counts of all sources when the store fails before the record is made", async () => {
    const ranges = [await sharedRange("a"), await sharedRange("b")];
    const store = database.namespace("default");
    const raiseForks = store.raiseForks.bind(store);
    const failing = new LogHistoryProvider(store);
    const failure = new DomainError("unavailable", "The store does not answer");
    store.raiseForks = (id) => (id === "b" ? Promise.reject(failure) : raiseForks(id));
    await expect(failing.restoreSession(image(ranges), reading)).rejects.toBe(failure);
    store.raiseForks = raiseForks;
    store.readRange = () => Promise.reject(failure);
    await expect(failing.restoreSession(image(ranges), reading)).rejects.toBe(failure);
    const { records } = database.dump();
    expect(records.map(({ sessionId, forks }) => ({ sessionId, forks }))).toEqual([
      { sessionId: "a", forks: 0 },
      { sessionId: "b", forks: 0 },
    ]);
  });

  it.each(["writes", "only shares"])("that %s messages uses another uid after the first was blocked", async (what) => {
    const ranges = what === "writes" ? [{ first: 1, last: 2 }] : [await sharedRange("source")];
    const store = database.namespace("default");
    const createRecord = store.createRecord.bind(store);
    let blocked = "";
    store.createRecord = async (record, call) => {
      if (blocked === record.uid) return "exists";
      if (blocked) return createRecord(record, call);
      blocked = record.uid;
      throw new DomainError("unavailable", "Whether the session was created is unknown");
    };
    const restoring = new LogHistoryProvider(store);
    await expect(restoring.restoreSession(image(ranges), reading)).rejects.toMatchObject({ code: "unavailable" });
    expect(await restoring.restoreSession(image(ranges), reading)).toMatchObject({ kind: "restored" });
  });

  it("refuses a message id that the shared part already has", async () => {
    const shared = await sharedRange("source");
    const restored = provider.restoreSession(image([shared, { first: 2, last: 2 }]), reading);
    await expect(restored).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Message "m2" is in session "s" twice',
    });
    expect(database.dump().records).toMatchObject([{ sessionId: "source", forks: 0 }]);
  });

  it("shares what the owner still names, but not what it has dropped since", async () => {
    const shared = await sharedRange("source");
    await provider.truncateMessages("source", "m1");
    expect(await provider.restoreSession(image([shared]), reading)).toEqual({ kind: "unshared" });
    const first = { ...shared, last: shared.first };
    expect(await provider.restoreSession(image([first]), reading)).toMatchObject({ kind: "restored" });
    await provider.deleteSession("source");
    expect(await provider.restoreSession({ ...image([first]), sessionId: "t" }, reading)).toEqual({ kind: "unshared" });
    expect((await provider.getSessionMessages("s")).map(({ id }) => id)).toEqual(["m1"]);
  });

  it("stores nothing when the id is taken", async () => {
    await provider.createSession({ sessionId: "s", title: "Mine" });
    expect(await provider.restoreSession(image([{ first: 1, last: 1 }]), reading)).toEqual({ kind: "exists" });
    expect(database.dump().records).toMatchObject([{ title: "Mine" }]);
  });

  it("stores nothing when somebody takes the id while the messages are written", async () => {
    const outcome = await provider.restoreSession(image([{ first: 1, last: 1 }]), async function* () {
      await provider.createSession({ sessionId: "s", title: "Mine" });
      yield [message(1)];
    });
    expect(outcome).toEqual({ kind: "exists" });
    expect(database.dump()).toMatchObject({ records: [{ title: "Mine" }], logs: new Map() });
  });

  it("restores one of two sessions with the same id that are restored at the same time, and leaves nothing else", async () => {
    const shared = await sharedRange("source");
    const outcomes = await Promise.all([
      provider.restoreSession(image([{ first: 7, last: 8 }]), reading),
      provider.restoreSession(image([shared, { first: 7, last: 7 }]), reading),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["exists", "restored"]);
    for (const sessionId of ["s", "source"]) await provider.deleteSession(sessionId);
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      await provider.sweep();
      nowMs += 600_000;
    }
    expect(database.dump()).toMatchObject({ records: [], logs: new Map() });
  });
});

describe("restoreSession of a session with ancestors", () => {
  const BYTES = 250;
  const inPieces = { sessionId: "p", ranges: [1, 3, 5, 7].map((first) => ({ first, last: first })) };

  beforeEach(() => {
    const options = { nowMicros: () => nowMs * 1000, maxAncestryBytes: BYTES };
    provider = new LogHistoryProvider(database.namespace("default"), options);
  });

  it("writes an ancestor's messages as one segment when several would take too much of the record", async () => {
    const grandparent = { sessionId: "g", ranges: [1, 3, 5, 7].map((first) => ({ first, last: first })) };
    const ancestry = [grandparent, { sessionId: "p", ranges: [2, 4, 5, 7].map((first) => ({ first, last: first })) }];
    const outcome = await provider.restoreSession({ ...image([{ first: 5, last: 5 }]), ancestry }, reading);
    expect(outcome.kind).toBe("restored");
    const shown = await provider.getSessionMessages("s", { includeAncestors: true });
    expect(shown.map(({ sessionId, id }) => `${sessionId} ${id}`)).toEqual(
      ["g m1", "g m3", "g m5", "g m7", "p m2", "p m4", "p m5", "p m7", "s m5"], //
    );
    const [record] = database.dump().records;
    expect(record?.ancestry).toHaveLength(2);
    expect(JSON.stringify(record?.ancestry).length).toBeLessThanOrEqual(BYTES);
  });

  it("refuses to share when the shared segments of the ancestors would take too much of the record", async () => {
    const shared = await sharedRange("source");
    const pieces = [1, 2, 3, 1, 2, 3].map((seq) => ({ ...shared, first: seq, last: seq }));
    const ancestry = [{ sessionId: "p", ranges: pieces.filter((_, i) => i % 2 === 0) }];
    const many = [...ancestry, { sessionId: "q", ranges: pieces.slice(0, 1) }];
    expect(await provider.restoreSession({ ...image([]), ancestry: many }, reading)).toEqual({ kind: "unshared" });
    expect(database.dump().records).toMatchObject([{ sessionId: "source", forks: 0 }]);
  });

  it("refuses a chain of parents that no record can hold, and stores nothing", async () => {
    const ancestry = ["g", "h", "i", "j", "k"].map((sessionId) => ({ ...inPieces, sessionId }));
    await expect(provider.restoreSession({ ...image([]), ancestry }, reading)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^Session "s" has too long a chain of parents: it would take \d+ bytes; at most 250/,
      ),
    });
    expect(database.dump()).toMatchObject({ records: [], logs: new Map() });
  });
});

describe("a sweep", () => {
  it("leaves alone a session that is being restored for up to a day", async () => {
    const outcome = await provider.restoreSession(image([{ first: 1, last: 2 }]), async function* () {
      yield [message(1)];
      await provider.sweep();
      nowMs += DAY_MS / 2;
      await provider.sweep();
      yield [message(2)];
    });
    expect(outcome.kind).toBe("restored");
    expect(await provider.getMessageCount("s")).toBe(2);
  });

  it("ends an abandoned restore before it deletes anything, so that nothing half swept is ever shown", async () => {
    const restored = provider.restoreSession(image([{ first: 1, last: 2 }]), async function* () {
      yield [message(1)];
      await provider.sweep();
      nowMs += DAY_MS + 1;
      await provider.sweep();
      yield [message(2)];
    });
    await expect(restored).rejects.toMatchObject({ code: "unavailable" });
    await expect(provider.getSession("s")).rejects.toMatchObject({ code: "not_found" });
    expect(database.dump()).toMatchObject({ records: [], logs: new Map() });
  });
});

function message(number: number): BackupMessage {
  const body = MessageBody.of({ parts: [] });
  return { id: `m${number}`, role: "user", timestampMicros: number, body, originSessionId: "s" };
}

const reading: ReadNumbers = async function* ({ first, last }) {
  yield Array.from({ length: last - first + 1 }, (_, i) => message(first + i));
};

function image(messages: RestoredImage["messages"]): RestoredImage {
  return {
    sessionId: "s",
    parentId: "",
    forkPointId: "",
    inheritedCount: 0,
    title: "",
    createTimeMicros: 1,
    updateTimeMicros: 1,
    revision: 1,
    origin: null,
    ancestry: [],
    messages,
    undo: null,
  };
}

/** The range of the messages m1 to m3 of a new session. */
async function sharedRange(sessionId: string): Promise<SharedRange> {
  await provider.createSession({ sessionId });
  await provider.logMessages(
    sessionId,
    [1, 2, 3].map((number) => ({ ...message(number), parts: [] })),
  );
  const [range] = (await provider.snapshotSession(sessionId))?.messages ?? [];
  if (range === undefined) throw new Error("The session has no messages");
  return { log: range.log, first: range.first, last: range.last, ownerId: sessionId };
}
