import { expect } from "vitest";
import type { Call } from "../../src/domain/call.js";
import { ERASED_BODY } from "../../src/domain/erasure.js";
import type { LogStore, NextRecord, SessionRecord } from "../../src/storage/history/log-store.js";
import {
  created,
  entries,
  entry,
  fill,
  fillOrphaned,
  next,
  record,
  replaced,
  seqs,
  T0,
} from "../contract/log-store/fixtures.js";

/** One call of a store, run while something fails. */
export interface Operation {
  readonly name: string;
  /** Stores what the operation needs. */
  prepare?(store: LogStore): Promise<unknown>;
  run(store: LogStore, call?: Call): Promise<unknown>;
  /** The right answer. */
  readonly answer: unknown;
  /**
   * When the operation may fail because it is not repeated. `unknown`: when it may have taken effect, because a count
   * must not change twice. `ever`: after any failure, because a ping reports the current state, and a refusal of
   * several records at once does not tell which of them it was about.
   */
  readonly mayFail?: "unknown" | "ever";
  /** Whether reading alone may give the answer, when the write keeps failing. */
  readonly isKnownByReading?: true;
  /**
   * Checks the store afterwards. `isDone`: whether the call was answered. A call that failed may have taken effect, but
   * only once.
   */
  check?(store: LogStore, isDone: boolean): Promise<void>;
}

const DRAFT = { log: "u.9", messageId: "d", timestampMicros: T0, discardWhenAbandoned: false } as const;
const todo = { id: "t", content: "c", status: "open", priority: "high" };

/** The second entry of any log. */
const COPY = { id: "m2", originSessionId: "s", timestampMicros: T0 + 2 };

export const OPERATIONS: readonly Operation[] = [
  {
    name: "createRecord",
    run: (store, call) => store.createRecord({ ...plain("u") }, call),
    answer: "created",
    check: async (store, isDone) => {
      const found = await store.scanRecords("", 9);
      expect(found.map(({ uid }) => uid)).toEqual(isDone || found.length > 0 ? ["u"] : []);
    },
  },
  {
    name: "readRecord",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: (store, call) => store.readRecord("s", call),
    answer: expect.objectContaining({ uid: "u" }),
  },
  {
    name: "raiseForks",
    mayFail: "unknown",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: (store, call) => store.raiseForks("s", call),
    answer: expect.objectContaining({ uid: "u", forks: 1 }),
    check: (store, isDone) => expectForks(store, isDone),
  },
  {
    name: "replaceRecord",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: async (store, call) => store.replaceRecord(next({ ...plain("u"), forks: 0 }, { title: "new" }), 0, call),
    answer: expect.objectContaining({ title: "new", revision: 1 }),
    check: async (store, isDone) => {
      const { title, revision } = (await store.readRecord("s")) as SessionRecord;
      expect([title, revision]).toEqual(isDone || revision === 1 ? ["new", 1] : ["", 0]);
    },
  },
  {
    name: "publishRecord",
    prepare: (store) => store.createRecord({ ...plain("u"), deleted: true, restoring: true }),
    run: (store, call) => store.publishRecord(plain("u"), call),
    answer: "published",
    check: async (store, isDone) => {
      const found = await store.readRecordByUid("u");
      expect(found?.deleted).toBeOneOf(isDone ? [false] : [true, false]);
    },
  },
  {
    name: "replaceRecord by a tombstone",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: async (store, call) => store.replaceRecord(next({ ...plain("u"), forks: 0 }, { deleted: true }), 0, call),
    answer: expect.objectContaining({ revision: 1, deleted: true }),
    check: async (store, isDone) => {
      if (isDone) expect(await store.readRecord("s")).toBeNull();
      expect(await store.scanRecords("", 9)).toHaveLength(1);
    },
  },
  {
    name: "addFork",
    mayFail: "unknown",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: (store, call) => store.addFork("u", 1, call),
    answer: true,
    check: (store, isDone) => expectForks(store, isDone),
  },
  {
    name: "addBytes",
    mayFail: "ever",
    prepare: (store) => created(store, "u", { isCounted: true }),
    run: (store, call) => store.addBytes(new Map([["u", 5]]), call),
    answer: undefined,
    check: async (store, isDone) => expect((await store.usage({})).bytes).toBeOneOf(isDone ? [5] : [0, 5]),
  },
  {
    name: "setBytes",
    prepare: (store) => created(store, "u"),
    run: (store, call) => store.setBytes(new Map([["u", 5]]), call),
    answer: undefined,
    check: async (store, isDone) => expect((await store.usage({})).bytes).toBeOneOf(isDone ? [5] : [0, 5]),
  },
  {
    name: "entryBytes",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: (store, call) => store.entryBytes([{ log: "u.1", first: 1, last: 9 }], call),
    answer: entries("u.1", 1, 2).reduce((sum, { body }) => sum + Buffer.byteLength(body.encode()), 0),
  },
  {
    name: "usage",
    prepare: (store) => created(store, "u", { isCounted: true }),
    run: (store, call) => store.usage({}, call),
    answer: { sessions: 1, bytes: 0, uncounted: 0 },
  },
  {
    name: "readRecordByUid",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: (store, call) => store.readRecordByUid("u", call),
    answer: expect.objectContaining({ uid: "u", revision: 0 }),
  },
  {
    name: "listRecords",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: (store, call) => store.listRecords({ parentId: "" }, { limit: 5 }, call),
    answer: [expect.objectContaining({ uid: "u" })],
  },
  {
    name: "touchRecords",
    prepare: (store) => created(store, "u", { sessionId: "s" }),
    run: async (store, call) => store.touchRecords?.(new Map([["u", T0 + 7]]), call),
    answer: undefined,
    check: async (store, isDone) => {
      const { updateTimeMicros } = (await store.readRecord("s")) as SessionRecord;
      expect(updateTimeMicros).toBeOneOf(isDone ? [T0 + 7] : [T0, T0 + 7]);
    },
  },
  {
    name: "append of one",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: (store, call) => store.append("u.1", 3, [entry("u.1", 3)], call),
    answer: 1,
    check: (store, isDone) => expectLog(store, isDone ? [3] : [2, 3]),
  },
  {
    name: "append of a batch",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: (store, call) => store.append("u.1", 3, entries("u.1", 3, 7), call),
    answer: 5,
    check: (store, isDone) => expectLog(store, isDone ? [7] : [2, 3, 4, 5, 6, 7]),
  },
  {
    name: "append to a taken place",
    isKnownByReading: true,
    prepare: (store) => fill(store, "u.1", 1, 3),
    run: (store, call) => store.append("u.1", 3, [entry("u.1", 3, { id: "other" })], call),
    answer: 0,
    check: (store) => expectLog(store, [3]),
  },
  {
    name: "append of a taken id",
    prepare: (store) => fill(store, "u.1", 1, 3),
    run: (store, call) => store.append("u.1", 4, [entry("u.1", 4, { id: "m2" })], call),
    answer: "idTaken",
    check: (store) => expectLog(store, [3]),
  },
  {
    name: "seal",
    prepare: (store) => fill(store, "u.1", 1, 3),
    run: (store, call) => store.seal("u.1", undefined, call),
    answer: 3,
    check: async (store, isDone) => {
      expect((await store.tail("u.1")).state).toBeOneOf(isDone ? ["sealed"] : ["open", "sealed"]);
      expect(await store.seal("u.1")).toBe(3);
    },
  },
  {
    name: "seal at a known end",
    prepare: (store) => fill(store, "u.1", 1, 3),
    run: (store, call) => store.seal("u.1", 3, call),
    answer: 3,
    check: async (store) => expect(await store.seal("u.1")).toBe(3),
  },
  {
    name: "readRange",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) => (await store.readRange("u.1", 1, 9, {}, call)).entries.map(({ seq }) => seq),
    answer: [1, 2],
  },
  {
    name: "readLast",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) => (await store.readLast(["u.1"], call)).map((last) => last?.seq),
    answer: [2],
  },
  {
    name: "readNewest",
    prepare: async (store) => {
      await created(store, "u", { sessionId: "s" });
      return store.append("u.1", 1, entries("u.1", 1, 2));
    },
    run: async (store, call) => {
      const options = { limit: 5, maxBytes: 1000 };
      const newest = store.readNewest ? await store.readNewest("s", options, call) : await store.readRecord("s", call);
      return (newest && "record" in newest ? newest.record : newest)?.uid;
    },
    answer: "u",
  },
  {
    name: "tail",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: (store, call) => store.tail("u.1", call),
    answer: expect.objectContaining({ state: "open", last: expect.objectContaining({ seq: 2 }) }),
  },
  {
    name: "seqAtTime",
    prepare: (store) => fill(store, "u.1", 1, 5),
    run: (store, call) => store.seqAtTime("u.1", 1, 5, T0 + 3, call),
    answer: 3,
  },
  {
    name: "findById",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) => (await store.findById(["u.1"], ["m2"], call)).map(({ seq }) => seq),
    answer: [2],
  },
  {
    name: "findCopies",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) =>
      (await store.findCopies([{ uid: "u", sessionId: "s" }], COPY, call)).map(({ seq }) => seq),
    answer: [2],
  },
  {
    name: "findOwned",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) => (await store.findOwned("u", "m2", call)).map(({ seq }) => seq),
    answer: [2],
  },
  {
    name: "listOwned",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: async (store, call) => (await store.listOwned("u", undefined, 9, call)).map(({ seq }) => seq),
    answer: [1, 2],
  },
  {
    name: "overwriteEntries",
    prepare: (store) => fill(store, "u.1", 1, 2),
    run: (store, call) => store.overwriteEntries([{ ...entry("u.1", 2), body: ERASED_BODY }], call),
    answer: undefined,
    check: async (store, isDone) => {
      const types = (await store.findById(["u.1"], ["m2"])).map(({ body }) => body.parts[0]?.type);
      expect(types).toBeOneOf(isDone ? [["erased"]] : [["erased"], ["text"]]);
    },
  },
  {
    name: "listSweepable",
    prepare: async (store) => replaced(store, await created(store, "u"), { deleted: true }),
    run: (store, call) => store.listSweepable(0, 5, call),
    answer: [expect.objectContaining({ uid: "u" })],
  },
  {
    name: "listExpired",
    prepare: (store) => created(store, "u", { expireTimeMicros: T0 }),
    run: (store, call) => store.listExpired({ expireTimeMicros: T0 }, 5, call),
    answer: [expect.objectContaining({ uid: "u" })],
  },
  {
    name: "listDrafting",
    prepare: (store) => created(store, "u", { drafts: [DRAFT] }),
    run: (store, call) => store.listDrafting("", 5, call),
    answer: [expect.objectContaining({ uid: "u", drafts: [DRAFT] })],
  },
  {
    name: "deleteEntries",
    prepare: (store) => fill(store, "u.1", 1, 4, () => ({ remaining: 0 })),
    run: (store, call) => store.deleteEntries({ log: "u.1", first: 3, last: 4 }, 10, call),
    answer: false,
    check: (store, isDone) => expectLog(store, isDone ? [2] : [2, 4]),
  },
  {
    name: "deleteRecord",
    mayFail: "unknown",
    prepare: async (store) => replaced(store, await created(store, "u"), { deleted: true }),
    run: (store, call) => store.deleteRecord("u", call),
    answer: true,
    check: async (store, isDone) => expect((await store.scanRecords("", 9)).length).toBeOneOf(isDone ? [0] : [0, 1]),
  },
  {
    name: "scanRecords",
    prepare: (store) => created(store, "u"),
    run: (store, call) => store.scanRecords("", 5, call),
    answer: [expect.objectContaining({ uid: "u" })],
  },
  {
    name: "listOrphans",
    prepare: (store) => fillOrphaned(store, "u.1"),
    run: (store, call) => store.listOrphans(5, call),
    answer: ["u"],
  },
  {
    name: "readTodos",
    prepare: (store) => store.replaceTodos([todo], 0),
    run: (store, call) => store.readTodos(call),
    answer: { todos: [todo], revision: 1 },
  },
  {
    name: "replaceTodos the first time",
    run: (store, call) => store.replaceTodos([todo], 0, call),
    answer: true,
    check: (store, isDone) => expectTodoRevision(store, isDone ? [1] : [0, 1]),
  },
  {
    name: "replaceTodos again",
    prepare: (store) => store.replaceTodos([todo], 0),
    run: (store, call) => store.replaceTodos([], 1, call),
    answer: true,
    check: (store, isDone) => expectTodoRevision(store, isDone ? [2] : [1, 2]),
  },
  { name: "timeMs", run: (store, call) => store.timeMs(call), answer: expect.any(Number) },
  { name: "ping", mayFail: "ever", run: (store, call) => store.ping(call), answer: undefined },
];

/** The record of a session `s`, as `created` stores it. */
function plain(uid: string): NextRecord {
  return record(uid, { sessionId: "s" });
}

async function expectForks(store: LogStore, isDone: boolean): Promise<void> {
  expect((await store.readRecord("s"))?.forks).toBeOneOf(isDone ? [1] : [0, 1]);
}

/** Expects that the log holds the messages 1 to n, each once, where n is one of `lengths`. */
async function expectLog(store: LogStore, lengths: readonly number[]): Promise<void> {
  const stored = await seqs(store, "u.1", 1, 99);
  expect(stored.length).toBeOneOf([...lengths]);
  expect(stored).toEqual(stored.map((_, i) => i + 1));
  const ids = stored.map((seq) => `m${seq}`);
  expect(await store.findById(["u.1"], [...ids, "other"])).toHaveLength(stored.length);
}

async function expectTodoRevision(store: LogStore, revisions: readonly number[]): Promise<void> {
  expect((await store.readTodos()).revision).toBeOneOf([...revisions]);
}
