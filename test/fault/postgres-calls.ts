import type { SessionFilter } from "../../src/domain/page.js";
import { orderText, type SessionOrder } from "../../src/domain/session-order.js";
import type { AttachmentTable, FeedTable, RecordBin } from "../../src/storage/history/log-store.js";
import { placeIn } from "../../src/storage/history/record-queries.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { arriving, naming } from "../contract/log-store/attachment-fixtures.js";
import { created, entries, next, record, replaced, T0 } from "../contract/log-store/fixtures.js";

/**
 * The names of a long log and of a session that many others surround, as `postgres-plans.test.ts` makes them. Every
 * message names the attachment `shared` of this session, whose pieces are in `target`, and one of its own.
 */
export const BIG = { uid: "big", log: "big.1", sessionId: "big", messages: 10_000, target: "big.a1" } as const;

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

const PAGE = { limit: 20 };
const LATER = { ...PAGE, after: { updateTimeMicros: T0 + 500, sessionId: "s" } };
const FILTERS = {
  "of all": { parentId: "" },
  "of a parent": { parentId: "parent" },
  "of a label": { parentId: "", labels: ["all="] },
  "of a rare label": { parentId: "", labels: ["some=7"] },
  "of two labels, the rare one first": { parentId: "", labels: ["some=7", "all="] },
  "of two labels, the rare one last": { parentId: "", labels: ["all=", "some=7"] },
  "of two labels that all have": { parentId: "", labels: ["all=", "too="] },
  "of a parent and a label": { parentId: "parent", labels: ["all="] },
  "of an owner of many": { parentId: "", owner: "o1" },
  "of an owner of few": { parentId: "", owner: "few5" },
  "of those without an owner": { parentId: "", owner: "" },
  "of an owner and a label": { parentId: "", owner: "o1", labels: ["all="] },
  "of an owner and a rare label": { parentId: "", owner: "o1", labels: ["some=7"] },
  "of an owner of few and a label": { parentId: "", owner: "few5", labels: ["all="] },
  "of an owner of few and two labels": { parentId: "", owner: "few5", labels: ["all=", "too="] },
  "of an owner and two labels": { parentId: "", owner: "o1", labels: ["all=", "some=7"] },
  "of an owner and a parent": { parentId: "parent", owner: "o1" },
  "of an owner of few and a parent": { parentId: "parent", owner: "few5" },
  "of an owner, a label and a parent": { parentId: "parent", owner: "o1", labels: ["all="] },
  "of those without an owner, with a label": { parentId: "", owner: "", labels: ["too="] },
};

/** Conditions of rare and of common sessions, each of which an index has, or not. */
const QUERIES: Readonly<Record<string, SessionFilter>> = {
  "of all": { parentId: "" },
  "of an owner": { parentId: "", owner: "o1" },
  "of a time": { parentId: "", updatedSinceMicros: T0 + 10, updatedUntilMicros: T0 + 3990 },
  "of two labels": { parentId: "", labels: ["all=", "some=7"] },
  "of two common labels": { parentId: "", labels: ["all=", "too="] },
  "of a rare word": { parentId: "", titleWords: ["u77", "title"] },
  "of a common word": { parentId: "", titleWords: ["title"] },
  "of all conditions": {
    ...{ parentId: "parent", owner: "o1", labels: ["all=", "too="], titleWords: ["title"] },
    ...{ updatedSinceMicros: T0 + 10, updatedUntilMicros: T0 + 3990 },
  },
};
const ORDERS: readonly SessionOrder[] = (["update_time", "create_time", "title"] as const).flatMap((by) => [
  { by, descending: true },
  { by, descending: false },
]);
/** So that a plan that reads more than a query may look at is told from one that does not. */
const LOOKED = { limit: 10, lookAt: 15 };
const MIDDLE = record("u2000", { title: "title u2", updateTimeMicros: T0 + 2000, createTimeMicros: T0 + 2000 });

const USED = [
  { log: BIG.log, first: 777, last: 9000 },
  { log: "u3.1", first: 1, last: Number.MAX_SAFE_INTEGER },
];

/** Reads that callers of the API wait for: what they cost must not depend on how much is stored. */
export function readsOf(database: PostgresLogDatabase): Calls {
  const store = database.namespace("default");
  const lists = Object.entries(FILTERS).flatMap(([name, filter]) => [
    [`a list ${name}`, () => store.listRecords(filter, PAGE)],
    [`a later page ${name}`, () => store.listRecords(filter, LATER)],
  ]);
  const queries = ORDERS.flatMap((order) =>
    Object.entries(QUERIES).flatMap(([name, filter]) => [
      [`a query ${name} by ${orderText(order)}`, () => store.queries?.find({ ...filter, order }, LOOKED)],
      [
        `a later page ${name} by ${orderText(order)}`,
        () => store.queries?.find({ ...filter, order }, { ...LOOKED, after: placeIn(MIDDLE, order) }),
      ],
    ]),
  );
  const counts = Object.entries(QUERIES).map(([name, filter]) => [
    `the number ${name}`,
    () => store.queries?.count(filter, 10),
  ]);
  return {
    ...Object.fromEntries([...queries, ...counts, ["a sample", () => store.queries?.sample(20)]]),
    "a session": () => store.readRecord(BIG.sessionId),
    "a session by uid": () => store.readRecordByUid(BIG.uid),
    "the end of a log": () => store.tail(BIG.log),
    "a page": () => store.readRange(BIG.log, 4000, 9000, PAGE),
    "a page, newest first": () => store.readRange(BIG.log, 1, 9000, { ...PAGE, descending: true }),
    "the first page": () => store.readRange(BIG.log, 1, 1e9, { ...PAGE, maxBytes: 1e6 }),
    "the newest page": async () => store.readNewest?.(BIG.sessionId, { ...PAGE, maxBytes: 1e6 }),
    "the last messages of logs": () => store.readLast([BIG.log, "u3.1", "none.1"]),
    "a place by time": () => store.seqAtTime(BIG.log, 1, BIG.messages, T0 + 777),
    "messages by id": () => store.findById([BIG.log, "u3.1"], ["m1", "m2", "m9999", "none"]),
    "messages of an owner": () => store.findOwned(BIG.uid, "m77"),
    "the bytes of entries": () =>
      store.entryBytes([
        { log: BIG.log, first: 777, last: 799 },
        { log: "u3.1", first: 1, last: Number.MAX_SAFE_INTEGER },
      ]),
    "usage in ranges": () => store.readUsage([...USED], PAGE.limit),
    "sums of usage": () => store.readUsageEnds(USED),
    "what an owner of few takes": () => store.usage({ owner: "few5" }),
    "what the sessions of a key take": () => store.usage({ key: "k5" }),
    "places of an owner": () => store.listOwned(BIG.uid, undefined, 10),
    "later places of an owner": () => store.listOwned(BIG.uid, { log: BIG.log, seq: 4000, originSessionId: "s" }, 10),
    "copies of a message": () =>
      store.findCopies([{ uid: BIG.uid, sessionId: "s" }], { id: "m2", originSessionId: "s", timestampMicros: T0 + 2 }),
    ...attachmentReadsOf(store.attachments as AttachmentTable),
    ...binReadsOf(store.bin as RecordBin),
    ...feedReadsOf(store.feed as FeedTable),
    ...Object.fromEntries(lists),
    "the time": () => store.timeMs(),
    todos: () => store.readTodos(),
    "a register": () => database.registers.read("place"),
  };
}

function attachmentReadsOf(table: AttachmentTable): Calls {
  const logs = [BIG.log, "u3.1", "none.1"];
  return {
    "pieces of an attachment": () => table.readPieces(BIG.target, 77, 20),
    "the last piece of an attachment": () => table.lastPiece(BIG.target),
    "attachments by id": () => table.find(BIG.uid, ["a77", "a78", "none"]),
    "the attachment of a log": () => table.findLog(BIG.target),
    "attachments of a session": () => table.list(BIG.uid, "", PAGE.limit),
    "later attachments of a session": () => table.list(BIG.uid, "big.a77", PAGE.limit),
    "what the attachments of a session take": () => table.usage("u3"),
    "what names an attachment": () => table.namings(BIG.target, undefined, PAGE.limit),
    "what else names an attachment": () => table.namings(BIG.target, { log: BIG.log, seq: 777 }, PAGE.limit),
    "what names attachments by id": () => table.findNamings(logs, ["a77", "a78", "none"]),
    "what names attachments of logs": () => table.listNamings(logs, "", PAGE.limit),
    "what else names attachments of logs": () => table.listNamings(logs, "a77", PAGE.limit),
    "what a range names": () => table.targetsIn({ log: BIG.log, first: 777, last: 787 }, PAGE.limit),
    "what a session names of others": () => table.targetsIn({ foreignTo: "u3" }, PAGE.limit),
  };
}

function binReadsOf(bin: RecordBin): Calls {
  const later = { ...PAGE, after: { deleteTimeMicros: T0 + 2000, sessionId: "u2000" } };
  return {
    "the bin": () => bin.list({}, PAGE),
    "a later page of the bin": () => bin.list({}, later),
    "the bin of an owner of many": () => bin.list({ owner: "o1" }, PAGE),
    "a later page of the bin of an owner": () => bin.list({ owner: "o1" }, later),
    "the bin of an owner of few": () => bin.list({ owner: "few5" }, PAGE),
    "what had an id": () => bin.list({ sessionId: "u77" }, PAGE),
    "what to purge": () => bin.listDue(T0 + 3000, PAGE.limit),
    "nothing to purge": () => bin.listDue(0, PAGE.limit),
  };
}

/** The places of what `postgres-plans.test.ts` stores are below zero. */
function feedReadsOf(feed: FeedTable): Calls {
  return {
    "the ends of the feed": () => feed.ends(),
    "the feed": () => feed.read({ place: -9000 }, PAGE.limit),
    "the feed within a place": () => feed.read({ place: -8000, key: "0" }, PAGE.limit),
    "the end of the feed": () => feed.read({ place: 0 }, PAGE.limit),
    "what changed lately": () => feed.recent(T0 + 3990),
    "what is being written": () => feed.settle(),
  };
}

/** Everything else, of a session that is made first and deleted last. `uid` must be a new one. */
export function writesOf(database: PostgresLogDatabase, uid: string): Calls {
  const store = database.namespace("default");
  const log = `${uid}.1`;
  const sessionId = `session of ${uid}`;
  const found = async () => {
    const record = await store.readRecordByUid(uid);
    if (record === null) throw new Error(`There is no record ${uid}`);
    return record;
  };
  const appended = async (name: string, first: number, last: number) => {
    const stored = await store.append(
      name,
      first,
      entries(name, first, last, (seq) => ({ id: `own ${seq}` })),
    );
    if (stored !== last - first + 1) throw new Error(`The append to ${name} answered ${stored}`);
  };
  const bytes = new Map([uid, `${uid}-other`, "u7", "nobody"].map((one) => [one, 5]));
  const table = store.attachments as AttachmentTable;
  const target = `${uid}.a`;
  const namingAt = (seq: number) => naming(log, seq, [`own ${seq}`, target], ["shared", BIG.target]);
  const setRegister = async () => {
    const { revision = 0 } = (await database.registers.read("place")) ?? {};
    return database.registers.replace("place", "here", revision);
  };
  const setTodos = async () => store.replaceTodos([], (await store.readTodos()).revision);
  return {
    "a new session": () => created(store, uid, { parentId: "parent", labels: { all: "", some: "7" } }),
    "another one": () => created(store, `${uid}-other`),
    "the count of forks": async () => [await store.raiseForks(sessionId), await store.addFork(uid, -1)],
    "counted bytes": async () => [await store.addBytes(bytes), await store.setBytes(bytes)],
    "appends to two sessions": () => Promise.all([appended(log, 1, 1), appended(`${uid}-other.1`, 1, 1)]),
    "an append": () => appended(`${uid}-other.1`, 2, 2),
    "a batch": () => appended(log, 2, 9),
    "an append to a long log": async () => {
      const { last, isNamed } = await store.tail(BIG.log);
      const end = last?.seq ?? 0;
      if (!isNamed) return;
      await appended(BIG.log, end + 1, end + 1);
      await appended(BIG.log, end + 2, end + 9);
    },
    "an upload": async () => {
      await table.begin(arriving(target));
      for (const seq of [1, 2, 3]) await table.putPiece(target, seq, Buffer.from("piece"));
      await table.change(target, { seenMs: 5, pieces: 3 });
      const arrived = { log: target, size: 15, sha256: "", createTimeMicros: T0, seenMs: 7 };
      if ((await table.complete(arrived)) === "gone") throw new Error("The upload is gone");
    },
    "an append that names attachments": () => store.append(log, 10, [namingAt(10)]),
    "a batch that names attachments": () => store.append(log, 11, [namingAt(11), namingAt(12)]),
    "new contents that name nothing": () =>
      store.overwriteEntries([12, 10].flatMap((seq) => entries(log, seq, seq, () => ({ id: `m${seq}` })))),
    "attachments to look at": () => table.listSeen("stored", T0, PAGE.limit),
    "no attachments to look at": () => table.listSeen("doomed", 0, PAGE.limit),
    "new contents": () => store.overwriteEntries(entries(log, 2, 5, (seq) => ({ id: `own ${seq}` }))),
    "a change of a session": async () => replaced(store, await found(), { title: "x", labels: { all: "", some: "8" } }),
    "a session that is put into the bin and taken out": async () => {
      const bin = { deleteTimeMicros: T0, purgeTimeMicros: T0 };
      await replaced(store, await found(), { deleted: true, bin });
      const { forks: _, revision, ...deleted } = await found();
      await store.bin?.revive({ ...deleted, revision: revision + 1, deleted: false, bin: undefined }, revision);
    },
    "the removal of old rows of the feed": () => (store.feed as FeedTable).prune(T0 + 10),
    "a seal": () => store.seal(log),
    "a restored session": async () => {
      const { markedAtMs: _, ...made } = next(await found(), { uid: `${uid}-copy`, sessionId: `${uid}-copy` });
      await store.createRecord({ ...made, deleted: true, restoring: true, markedAtMs: 0 });
      await store.publishRecord({ ...made, markedAtMs: null });
    },
    todos: async () => [await setTodos(), await setTodos()],
    "a register": async () => [await setRegister(), await setRegister()],
    "what to sweep": () => store.listSweepable(1e9, PAGE.limit),
    "nothing to sweep": () => store.listSweepable(0, PAGE.limit),
    "sessions with drafts": () => store.listDrafting("", PAGE.limit),
    "expired sessions": () => store.listExpired({ expireTimeMicros: T0 + 1500 }, PAGE.limit),
    "sessions that nobody has used": () =>
      store.listExpired({ expireTimeMicros: T0, updateTimeMicros: T0 + 1500 }, PAGE.limit),
    "no expired sessions": () => store.listExpired({ expireTimeMicros: 5, updateTimeMicros: 0 }, PAGE.limit),
    "the next records": () => store.scanRecords("", PAGE.limit),
    "the removal of a range": () => store.deleteEntries({ log, first: 2, last: 4 }, PAGE.limit),
    "the removal of the rest of a log": () => store.deleteEntries({ log, first: 5, last: 1e9 }, PAGE.limit),
    "the removal of pieces": () => store.deleteEntries({ log: target, first: 1, last: 2 }, PAGE.limit),
    "the removal of an attachment": async () => {
      await table.begin(arriving(`${uid}.b`));
      await table.remove(`${uid}.b`);
    },
    "the removal of all logs": () => store.deleteEntries({ uid }, PAGE.limit),
    "the removal of a session": async () => {
      await replaced(store, await found(), { deleted: true });
      await store.deleteRecord(uid);
    },
  };
}

/** Calls that read more the more there is: they look at all sessions or namespaces. */
export function surveysOf(database: PostgresLogDatabase): Calls {
  return {
    "logs without a session": () => database.namespace("default").listOrphans(20),
    "what a namespace takes": () => database.namespace("default").usage({}),
    "what an owner of many takes": () => database.namespace("default").usage({ owner: "o1" }),
    "all namespaces": () => database.listNamespaces(),
    figures: () => database.figures(),
  };
}

/** Searches for a word of all messages and for one of a few, also in the logs of some sessions. */
export function searchesOf(database: PostgresLogDatabase): Calls {
  const { searchEntries } = database.namespace("default");
  const search = (text: string, owners?: readonly string[]) => {
    const terms = [{ text, words: text.split(" "), isPrefix: false }];
    return async () => searchEntries?.({ terms, scope: "text", owners }, PAGE);
  };
  return {
    "a word that all have": search("common"),
    "a word that few have": search("w77"),
    "a word that none has": search("w0"),
    "a phrase": search("common w77"),
    "a word in a session": search("w77", ["u3"]),
    "a phrase in a session": search("common w77", ["u3"]),
  };
}
