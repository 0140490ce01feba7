import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogStore, SessionRecord } from "../../src/storage/history/log-store.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { arriving, begun } from "../contract/log-store/attachment-fixtures.js";
import { created, entries, entry, fill, next, record, replaced, T0 } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { emptyPostgres, openPostgresDatabases, schemaOf } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";

const LABELS = { a: "1", b: "2" };

const server = await startPostgresServer({ fast: true });
let databases: readonly PostgresLogDatabase[];
/** Of two processes, so that only the database puts their writes in order. */
let one: LogStore;
let two: LogStore;
let s: string;
let admin: pg.Client;

beforeAll(async () => {
  if (!server) return;
  databases = await openPostgresDatabases(server, 2);
  [one, two] = databases.map((database) => database.namespace("default")) as [LogStore, LogStore];
  s = schemaOf(databases[0] as PostgresLogDatabase);
  admin = new pg.Client(server.url);
  await admin.connect();
});
beforeEach(() => emptyPostgres(server, databases[0] as PostgresLogDatabase));
afterAll(async () => {
  await admin?.end();
  for (const database of databases?.toReversed() ?? []) await database.close();
  await server?.stop();
});

describe.skipIf(!server)("two writes of which each waits for the one before it", () => {
  let before: SessionRecord;
  beforeEach(async () => {
    before = await created(one, "u", { labels: LABELS });
  });

  it("store nothing in a log that the first one has replaced", async () => {
    const replacing = (now: SessionRecord, log: string) => () => one.replaceRecord(next(now, { log }), now.revision);
    const append = () => two.append("u.1", 1, [entry("u.1", 1)]);
    const [changed, appended] = await inOrder(RECORD, replacing(before, "u.2"), append);
    expect([changed?.log, appended]).toEqual(["u.2", "unnamed"]);
    const [again, sealed] = await inOrder(RECORD, replacing(changed as SessionRecord, "u.3"), () => two.seal("u.2"));
    expect([again?.log, sealed]).toEqual(["u.3", "unnamed"]);
    expect(await one.readLast(["u.1", "u.2"])).toEqual([null, null]);
  });

  it("give a place, and an id, to the first one", async () => {
    const append = (store: LogStore, seq: number, id: string) => () =>
      store.append("u.1", seq, [entry("u.1", seq, { id })]);
    expect(await inOrder(RECORD, append(one, 1, "m"), append(two, 1, "n"))).toEqual([1, 0]);
    expect(await inOrder(RECORD, append(one, 2, "o"), append(two, 3, "o"))).toEqual([1, "idTaken"]);
    expect(await inOrder(RECORD, append(one, 3, "p"), append(two, 4, "q"))).toEqual([1, 1]);
    const batch = () => two.append("u.1", 6, entries("u.1", 6, 7));
    expect(await inOrder(RECORD, append(one, 5, "m7"), batch)).toEqual([1, "idTaken"]);
  });

  it("let a seal count what was appended before it, and an append find the seal", async () => {
    const append = (store: LogStore, seq: number) => () => store.append("u.1", seq, [entry("u.1", seq)]);
    expect(await inOrder(RECORD, append(one, 1), () => two.seal("u.1"))).toEqual([1, 1]);
    expect(await inOrder(RECORD, () => two.seal("u.1"), append(one, 2))).toEqual([1, 0]);
    expect(
      await inOrder(
        RECORD,
        () => one.seal("u.1"),
        () => two.seal("u.1"),
      ),
    ).toEqual([1, 1]);
  });

  it("let one of two replacements win, with its labels alone", async () => {
    const labeling = (store: LogStore, labels: SessionRecord["labels"]) => () =>
      store.replaceRecord(next(before, { labels }), before.revision);
    const [won, lost] = await inOrder(RECORD, labeling(one, { b: "2", c: "3" }), labeling(two, { d: "4" }));
    expect([won?.labels, lost]).toEqual([{ b: "2", c: "3" }, null]);
    expect(await labeled("a=1", "b=2", "c=3", "d=4")).toEqual([0, 1, 1, 0]);
  });

  it("move the time of a session and of its labels together, and never back", async () => {
    const retitling = (store: LogStore) => async () => {
      const now = (await store.readRecord(before.sessionId)) as SessionRecord;
      return store.replaceRecord(next(now, { title: "new", updateTimeMicros: T0 }), now.revision);
    };
    const append = (store: LogStore, seq: number) => () => store.append("u.1", seq, [entry("u.1", seq)]);
    await inOrder(RECORD, append(one, 1), retitling(two));
    const after = (await one.readRecord(before.sessionId)) as SessionRecord;
    expect(after.title).toBe("new");
    expect(after.updateTimeMicros).toBeGreaterThan(T0);
    await expectLabelsInStep();
    await admin.query(`UPDATE ${s}.sessions SET update_time = ${T0}; UPDATE ${s}.labels SET update_time = ${T0}`);
    await inOrder(RECORD, retitling(one), append(two, 2));
    expect((await one.readRecord(before.sessionId))?.updateTimeMicros).toBeGreaterThan(T0);
    await expectLabelsInStep();
  });

  it("count no fork of a session that the first one has deleted", async () => {
    const deleting = () => one.replaceRecord(next(before, { deleted: true }), before.revision);
    const [deleted, raised] = await inOrder(RECORD, deleting, () => two.raiseForks(before.sessionId));
    expect([deleted?.forks, raised]).toEqual([0, null]);
    expect(await labeled("a=1")).toEqual([0]);
    expect(
      await inOrder(
        RECORD,
        () => one.deleteRecord("u"),
        () => two.addFork("u", 1),
      ),
    ).toEqual([true, false]);
  });

  it("keep forks that were counted while a replacement waited", async () => {
    const retitling = () => two.replaceRecord(next(before, { title: "new" }), before.revision);
    const [, changed] = await inOrder(RECORD, () => one.raiseForks(before.sessionId), retitling);
    expect(changed).toMatchObject({ forks: 1, title: "new" });
  });

  it("give a session id to one of a new session and a restored one", async () => {
    const labels = { a: "1" };
    const restored = { sessionId: "s", labels };
    await one.createRecord(record("r", { ...restored, deleted: true, restoring: true }));
    const publish = () => one.publishRecord(record("r", restored));
    const create = () => two.createRecord(record("n", { sessionId: "s" }));
    expect(await inOrder(NEW_LABEL, publish, create)).toEqual(["published", "exists"]);
    expect((await two.readRecord("s"))?.uid).toBe("r");
  });

  it("free a session id for one that waits for its deletion", async () => {
    const deleting = () => one.replaceRecord(next(before, { deleted: true }), before.revision);
    const create = () => two.createRecord(record("n", { sessionId: before.sessionId }));
    const [deleted, outcome] = await inOrder(LABEL, deleting, create);
    expect(deleted?.deleted).toBe(true);
    expect(outcome).toBe("created");
  });
});

describe.skipIf(!server)("deletions of messages", () => {
  it("delete as many as they may, and tell truly whether there are more, when two wait for the same rows", async () => {
    await fill(one, "u.1", 1, 5);
    const deleting = (store: LogStore) => () => store.deleteEntries({ log: "u.1", first: 1, last: 5 }, 2);
    expect(await inOrder(MESSAGE, deleting(one), deleting(two))).toEqual([true, true]);
    expect((await one.readRange("u.1", 5, 5)).entries).toHaveLength(1);
    expect(await deleting(one)()).toBe(false);
  });

  it("delete no more than they may when the planner takes the table for one with a single row", async () => {
    await fill(one, "u.1", 1, 1);
    await admin.query(`ANALYZE ${s}.messages`);
    await fill(one, "u.1", 2, 5);
    expect(await one.deleteEntries({ uid: "u" }, 2)).toBe(true);
    expect((await one.readRange("u.1", 3, 5)).entries).toHaveLength(3);
  });

  it("do not wait for each other when erasures change the same messages in another order", async () => {
    const batch = await fill(one, "u.1", 1, 5);
    const erased = batch.map((message) => ({ ...message, body: entry("u.1", 1, { parts: [] }).body })).toReversed();
    const outcomes = await inOrder(
      MESSAGE,
      () => one.overwriteEntries(erased),
      () => two.deleteEntries({ uid: "u" }, 5),
    );
    expect(outcomes).toEqual([undefined, true]);
    expect((await one.readRange("u.1", 1, 5)).entries).toEqual([]);
    await replaced(one, (await one.readRecordByUid("u")) as SessionRecord, { log: "u.2" });
    const again = await fill(one, "u.2", 1, 5);
    expect(
      await inOrder(
        MESSAGE,
        () => two.deleteEntries({ uid: "u" }, 5),
        () => one.overwriteEntries(again),
      ),
    ).toEqual([true, undefined]);
  });
});

describe.skipIf(!server)("attachments that two processes write", () => {
  const complete = (store: LogStore, log: string) => async () =>
    store.attachments?.complete({ log, size: 1, sha256: "", createTimeMicros: 1, seenMs: 1 });

  it("give an id to the first one that is complete, and its row to the other", async () => {
    for (const log of ["u.2", "u.3"]) await begun(one, log, { attachmentId: "a" });
    const [first, second] = await inOrder(RECORD, complete(one, "u.2"), complete(two, "u.3"));
    expect(first).toMatchObject({ log: "u.2", state: "stored" });
    expect(second).toEqual(first);
    expect(await one.attachments?.usage("u")).toEqual({ bytes: 1, arriving: 1 });
  });

  it("are gone for a session that the first write has deleted", async () => {
    const before = (await begun(one, "u.2")) && ((await one.readRecordByUid("u")) as SessionRecord);
    const deleting = () => one.replaceRecord(next(before, { deleted: true }), before.revision);
    expect((await inOrder(RECORD, deleting, complete(two, "u.2")))[1]).toBe("gone");
    expect(await two.attachments?.begin(arriving("u.3"))).toBe("gone");
  });

  it("let a piece that waits for a sweep be stored nowhere, and a sweep find one that came first", async () => {
    await begun(one, "u.2");
    const doom = async () => one.attachments?.change("u.2", { seenMs: 0, state: "doomed" });
    const put = async () => two.attachments?.putPiece("u.2", 1, Buffer.from("piece"));
    expect(await inOrder(ATTACHMENT, doom, put)).toEqual([undefined, "gone"]);
    expect(await one.attachments?.lastPiece("u.2")).toBe(0);
    await one.attachments?.remove("u.2");
    await begun(one, "u.2");
    expect(await inOrder(ATTACHMENT, put, doom)).toEqual(["stored", undefined]);
    expect(await one.deleteEntries({ log: "u.2", first: 1, last: 9 }, 9)).toBe(false);
    expect(await one.attachments?.lastPiece("u.2")).toBe(0);
  });
});

/** What the first write waits for. */
const ATTACHMENT = () => `SELECT FROM ${s}.attachments WHERE uid = 'u' FOR UPDATE`;
const RECORD = () => `SELECT FROM ${s}.sessions WHERE uid = 'u' FOR UPDATE`;
const LABEL = () => `SELECT FROM ${s}.labels WHERE uid = 'u' FOR UPDATE`;
const MESSAGE = () => `SELECT FROM ${s}.messages WHERE seq = 1 FOR UPDATE`;
/** The first write has changed its record when it comes to the label. */
const NEW_LABEL = () => `INSERT INTO ${s}.labels VALUES ('r', 'a=1', 'default', 0, 's')`;

/** Begins each write when the one before it waits, lets them go, and resolves to their answers. */
async function inOrder<A, B>(lock: () => string, first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  await admin.query("BEGIN");
  await admin.query(lock());
  const writes: Promise<unknown>[] = [];
  for (const write of [first, second]) {
    writes.push(write());
    await poll(async () => (await waiting()) === writes.length, `write ${writes.length} waits`);
  }
  await admin.query("ROLLBACK");
  return Promise.all(writes) as Promise<[A, B]>;
}

async function waiting(): Promise<number> {
  // Otherwise all looks of one transaction would see the same.
  await admin.query("SELECT pg_stat_clear_snapshot()");
  const { rows } = await admin.query(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND position($1 IN query) > 0",
    [s],
  );
  return rows[0].count;
}

/** How many sessions have each of these labels. */
async function labeled(...labels: string[]): Promise<number[]> {
  const lists = labels.map((label) => one.listRecords({ parentId: "", labels: [label] }, { limit: 10 }));
  return (await Promise.all(lists)).map((list) => list.length);
}

/** Expects each label to have the place in lists that its session has. */
async function expectLabelsInStep(): Promise<void> {
  const { rows } = await admin.query(`SELECT l.uid, l.label FROM ${s}.labels AS l FULL JOIN
    (SELECT *, unnest(labels) AS label FROM ${s}.sessions WHERE NOT deleted) AS s USING (uid, label)
    WHERE (l.namespace, l.update_time, l.session_id) IS DISTINCT FROM (s.namespace, s.update_time, s.session_id)`);
  expect(rows).toEqual([]);
}
