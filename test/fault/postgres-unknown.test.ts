import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogStore, SessionRecord, StoredAttachment } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { begun, naming } from "../contract/log-store/attachment-fixtures.js";
import { created, entries, entry, fill, next, record, replaced, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { schemaOf } from "../support/postgres-database.js";
import { type Fate, type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

/** More than the minute within which a uid may be blocked. */
const LATER_MS = 61_000;

const server = await startOwnPostgresServer({ fast: true });
let proxy: PostgresProxy;
let database: PostgresLogDatabase;
let store: LogStore;
/** The same schema as another process uses it, which reaches the server without the proxy. */
let otherDatabase: PostgresLogDatabase;
let other: LogStore;
/** Holds locks. */
let locker: pg.Client;
let s: string;

beforeAll(async () => {
  if (!server) return;
  proxy = await startPostgresProxy(server.process.port);
  locker = new pg.Client(server.url);
  await locker.connect();
});
afterAll(async () => {
  await proxy?.close();
  await locker?.end();
  await server?.stop();
});

beforeEach(async () => {
  if (!server) return;
  const url = new URL(freshSchemaUrl(server));
  url.searchParams.set("listen", "off");
  otherDatabase = await PostgresLogDatabase.connect(url.href);
  other = otherDatabase.namespace("default");
  url.port = String(proxy.port);
  database = await PostgresLogDatabase.connect(url.href);
  store = database.namespace("default");
  s = schemaOf(database);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await database?.close();
  await otherDatabase?.close();
});

/** Runs the work, while the row of a record is locked until `count` statements wait for it. */
async function whileLocked<T>(uid: string, count: number, work: () => Promise<T>): Promise<T> {
  await locker.query("BEGIN");
  await locker.query(`SELECT 1 FROM ${s}.sessions WHERE uid = $1 FOR UPDATE`, [uid]);
  const done = work();
  done.catch(() => {});
  await untilWaiting(count);
  await locker.query("COMMIT");
  return done;
}

async function untilWaiting(count: number): Promise<void> {
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  // Inside of a transaction, the view would always show the same.
  await poll(async () => (await query(server!.url, waiting)).length >= count, `${count} statements wait for a lock`);
}

const isAppend = (text: string) => text.includes("append_");
const isSeal = (text: string) => text.includes("seal_1");
const isCompletion = (text: string) => text.includes("complete_attachment");
/** A replacement or a publication. */
const isReplacement = (text: string) => text.includes("AS s SET session_id");
const isCreation = (text: string) => /INSERT INTO \S+sessions.*ON CONFLICT DO NOTHING/s.test(text);

describe.skipIf(!server)("a first send that still runs when it is repeated", () => {
  it("of an append is stored once, and answered as stored", async () => {
    await fill(store, "u.1", 1, 2);
    proxy.meet((text) => (isAppend(text) ? "running" : undefined));
    const batch = entries("u.1", 3, 5);
    expect(await whileLocked("u", 2, () => store.append("u.1", 3, batch))).toBe(3);
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3, 4, 5]);
  });

  it("of a seal gives the same answer", async () => {
    await fill(store, "u.1", 1, 3);
    proxy.meet((text) => (isSeal(text) ? "running" : undefined));
    expect(await whileLocked("u", 2, () => store.seal("u.1"))).toBe(3);
    expect(await store.seal("u.1")).toBe(3);
  });

  it("of a replacement is answered as replaced by this write", async () => {
    const from = await created(store, "u", { sessionId: "s" });
    proxy.meet((text) => (isReplacement(text) ? "running" : undefined));
    const after = await whileLocked("u", 2, () => store.replaceRecord(next(from, { title: "mine" }), 0));
    expect(after).toMatchObject({ title: "mine", revision: 1 });
    expect(await store.readRecord("s")).toEqual(after);
  });

  it("of a publication is answered as published", async () => {
    await store.createRecord(record("u", { sessionId: "s", deleted: true, restoring: true }));
    proxy.meet((text) => (isReplacement(text) ? "running" : undefined));
    expect(await whileLocked("u", 2, () => store.publishRecord(record("u", { sessionId: "s" })))).toBe("published");
    expect(await store.readRecord("s")).toMatchObject({ revision: 1 });
  });

  it("of an attachment's end is answered by what it has stored, also where another one has the id", async () => {
    for (const log of ["u.2", "u.3"]) await begun(store, log, { attachmentId: "a" });
    const complete = (log: string, table = store.attachments) =>
      table?.complete({ log, size: 7, sha256: "", createTimeMicros: 1, seenMs: 1 });
    proxy.meet((text) => (isCompletion(text) ? "running" : undefined));
    const both = () => Promise.all([complete("u.2"), complete("u.3", other.attachments)]);
    const answers = (await whileLocked("u", 3, both)) as readonly StoredAttachment[];
    expect(new Set(answers.map(({ log }) => log)).size).toBe(1);
    expect(await store.attachments?.find("u", ["a"])).toEqual([answers[0]]);
  });

  it("of a creation is answered as created, whether or not it has stored the record when the uid is blocked", async () => {
    // The first send waits, before it stores anything, for a session with the same id whose making is not committed.
    await locker.query("BEGIN");
    await locker.query(blankSession("other", "s"));
    proxy.meet((text) => (isCreation(text) ? "running" : undefined));
    const answer = store.createRecord(record("u", { sessionId: "s", title: "mine" }));
    await untilWaiting(2);
    await locker.query("ROLLBACK");
    expect(await answer).toBe("created");
    expect(await store.readRecord("s")).toMatchObject({ uid: "u", title: "mine" });

    // The first send waits after it has stored the record.
    await locker.query(`CREATE FUNCTION ${s}.wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END'`);
    await locker.query(`CREATE TRIGGER wait AFTER INSERT ON ${s}.sessions FOR EACH ROW EXECUTE FUNCTION ${s}.wait()`);
    await locker.query("SELECT pg_advisory_lock(1)");
    proxy.meet((text) => (isCreation(text) ? "running" : undefined));
    const stored = store.createRecord(record("w", { sessionId: "t", title: "mine" }));
    await untilWaiting(2);
    await locker.query("SELECT pg_advisory_unlock(1)");
    expect(await stored).toBe("created");
    expect(await store.readRecord("t")).toMatchObject({ uid: "w", title: "mine" });
    expect(await store.scanRecords("", 9)).toHaveLength(2);
  });
});

describe.skipIf(!server)("a first send that arrives after its repeat", () => {
  it("of a piece stores nothing in an upload that was given up since", async () => {
    await begun(store, "u.2");
    const late = proxy.meet((text) => (text.includes("put_piece") ? "late" : undefined));
    expect(await store.attachments?.putPiece("u.2", 1, Buffer.from("piece"))).toBe("stored");
    await store.attachments?.change("u.2", { seenMs: 0, state: "doomed" });
    await store.deleteEntries({ log: "u.2", first: 1, last: 9 }, 9);
    await late.deliver();
    expect(await store.attachments?.lastPiece("u.2")).toBe(0);
  });

  it("of an append stores nothing more", async () => {
    await fill(store, "u.1", 1, 2);
    const late = proxy.meet((text) => (isAppend(text) ? "late" : undefined));
    expect(await store.append("u.1", 3, [entry("u.1", 3)])).toBe(1);
    await late.deliver();
    expect(await store.append("u.1", 4, [entry("u.1", 4)])).toBe(1);
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3, 4]);
  });

  it("of a replacement changes nothing more", async () => {
    const from = await created(store, "u", { sessionId: "s" });
    const late = proxy.meet((text) => (isReplacement(text) ? "late" : undefined));
    const after = (await store.replaceRecord(next(from, { title: "first" }), 0)) as SessionRecord;
    await replaced(store, after, { title: "second" });
    await late.deliver();
    expect(await store.readRecord("s")).toMatchObject({ title: "second", revision: 2 });
  });

  it("of a publication that was answered otherwise publishes nothing without the caller knowing", async () => {
    await store.createRecord(record("u", { sessionId: "s", deleted: true, restoring: true }));
    const other = await created(store, "other", { sessionId: "s" });
    const late = proxy.meet((text) => (isReplacement(text) ? "late" : undefined));
    // `exists` would say that nothing was changed, and the other session may be deleted before the first send arrives.
    await expect(store.publishRecord(record("u", { sessionId: "s" }))).rejects.toMatchObject({ code: "unavailable" });
    await replaced(store, other, { deleted: true });
    await late.deliver();
    expect(await store.readRecord("s")).toMatchObject({ uid: "u" });
  });

  it("of a creation makes no second session, and none after `exists`", async () => {
    const late = proxy.meet((text) => (isCreation(text) ? "late" : undefined));
    expect(await store.createRecord(record("u", { sessionId: "s" }))).toBe("created");
    await late.deliver();
    expect(await store.scanRecords("", 9)).toMatchObject([{ uid: "u", sessionId: "s", revision: 0 }]);

    const refused = proxy.meet((text) => (isCreation(text) ? "late" : undefined));
    expect(await store.createRecord(record("w", { sessionId: "s" }))).toBe("exists");
    await replaced(store, (await store.readRecord("s")) as SessionRecord, { deleted: true });
    await refused.deliver();
    expect(await store.readRecord("s")).toBeNull();
  });
});

describe.skipIf(!server)("a write whose answer was lost", () => {
  it("that named attachments is answered as stored, and named them once", async () => {
    await fill(store, "u.1", 1, 2);
    const append = () => store.append("u.1", 3, [naming("u.1", 3, ["a", "u.2"])]);
    const goOn = () => other.append("u.1", 4, [naming("u.1", 4, ["a", "u.2"])]);
    expect(await changedMeanwhile(isAppend, append, goOn)).toBe(1);
    expect((await store.attachments?.namings("u.2", undefined, 9))?.map(({ seq }) => seq)).toEqual([3, 4]);
  });

  it("that appended is answered as stored, even if another append and a seal have followed it", async () => {
    await fill(store, "u.1", 1, 2);
    const append = () => store.append("u.1", 3, [entry("u.1", 3)]);
    const goOn = async () => {
      expect(await other.append("u.1", 4, [entry("u.1", 4)])).toBe(1);
      expect(await other.seal("u.1")).toBe(4);
    };
    expect(await changedMeanwhile(isAppend, append, goOn)).toBe(1);
  });

  it.each(["answer lost", "lost"] as const)(
    "of several sessions in one statement is read back for each: %s",
    async (fate) => {
      for (const log of ["u.1", "v.1", "w.1"]) await fill(store, log, 1, 2);
      const appends = () => Promise.all(["u.1", "v.1", "w.1"].map((log) => store.append(log, 3, [entry(log, 3)])));
      const takeOne = () =>
        fate === "lost" ? other.append("v.1", 3, [entry("v.1", 3, { id: "other" })]) : other.seal("v.1");
      const isGroup = (text: string) => text.includes("append_group");
      expect(await changedMeanwhile(isGroup, appends, takeOne, fate)).toEqual([1, fate === "lost" ? 0 : 1, 1]);
      for (const log of ["u.1", "w.1"]) expect(await seqs(store, log, 1, 9)).toEqual([1, 2, 3]);
    },
  );

  it("that appended is answered as stored, even if the log has been given up since", async () => {
    await fill(store, "u.1", 1, 2);
    const giveUp = async () => replaced(other, (await other.readRecordByUid("u")) as SessionRecord, { deleted: true });
    expect(await changedMeanwhile(isAppend, () => store.append("u.1", 3, [entry("u.1", 3)]), giveUp)).toBe(1);
  });

  it("that replaced a record is unknown when the record has moved on or has gone", async () => {
    const from = await created(store, "u", { sessionId: "s" });
    const goOn = () => replaced(other, { ...from, revision: 1 }, { title: "further" });
    const gone = async () => {
      await replaced(other, await living("s"), { deleted: true });
      await other.deleteRecord("u");
    };
    const mine = (ifRevision: number) => () =>
      store.replaceRecord({ ...next(from), revision: ifRevision + 1 }, ifRevision);
    const unknown = { code: "unavailable", message: 'Whether session "s" was changed is unknown' };
    await expect(changedMeanwhile(isReplacement, mine(0), goOn)).rejects.toMatchObject(unknown);
    await expect(changedMeanwhile(isReplacement, mine(2), gone)).rejects.toMatchObject(unknown);
  });

  it("that published a record is unknown when the session has been deleted since", async () => {
    await store.createRecord(record("u", { sessionId: "s", deleted: true, restoring: true }));
    const publish = () => store.publishRecord(record("u", { sessionId: "s" }));
    const deletes = async () => replaced(other, await living("s"), { deleted: true });
    await expect(changedMeanwhile(isReplacement, publish, deletes)).rejects.toMatchObject({
      code: "unavailable",
      message: 'Whether session "s" was restored is unknown',
    });
  });

  it("that created a record is `created` when the session was deleted, and unknown when it may have been swept", async () => {
    const create = () => store.createRecord(record("u", { sessionId: "s" }));
    const deletes = async () => void (await replaced(other, await living("s"), { deleted: true }));
    expect(await changedMeanwhile(isCreation, create, deletes)).toBe("created");
    await other.deleteRecord("u");

    const now = performance.now.bind(performance);
    const sweeps = async () => {
      await deletes();
      await other.deleteRecord("u");
      vi.spyOn(performance, "now").mockImplementation(() => now() + LATER_MS);
    };
    await expect(changedMeanwhile(isCreation, create, sweeps)).rejects.toMatchObject({
      code: "unavailable",
      message: 'Whether session "s" was created is unknown',
    });
    expect(await rowOf("u")).toMatchObject({ blocked: true });
    expect(await store.readRecord("s")).toBeNull();
  });
});

describe.skipIf(!server)("a write that was lost", () => {
  it("is answered by what another one has written meanwhile", async () => {
    await fill(store, "u.1", 1, 2);
    const append = () => store.append("u.1", 3, [entry("u.1", 3)]);
    const appendOther = () => other.append("u.1", 3, [entry("u.1", 3, { id: "other" })]);
    expect(await changedMeanwhile(isAppend, append, appendOther, "lost")).toBe(0);
    const appendSame = () => other.append("u.1", 4, [entry("u.1", 4)]);
    const appendTaken = () => store.append("u.1", 5, [entry("u.1", 5, { id: "m4" })]);
    expect(await changedMeanwhile(isAppend, appendTaken, appendSame, "lost")).toBe("idTaken");

    const from = await living("session of u");
    const replace = () => store.replaceRecord(next(from, { title: "mine" }), from.revision);
    const replaceOther = () => replaced(other, from, { title: "other" });
    expect(await changedMeanwhile(isReplacement, replace, replaceOther, "lost")).toBeNull();
    expect(await living("session of u")).toMatchObject({ title: "other" });
  });
});

describe.skipIf(!server)("a blocked uid", () => {
  it("is in no answer, stays blocked, and is `exists` for whoever uses it again", async () => {
    await created(store, "other", { sessionId: "s" });
    proxy.meet((text) => (isCreation(text) ? "lost" : undefined));
    const labels = { kind: "blocked" };
    const blocked = record("u", { sessionId: "s", labels, sources: ["other"], expireTimeMicros: 1 });
    expect(await store.createRecord(blocked)).toBe("exists");
    expect(await rowOf("u")).toMatchObject({
      blocked: true,
      sweep_time: null,
      expire_time: null,
      logs: [],
      labels: [],
    });

    const far = Number.MAX_SAFE_INTEGER;
    const lists = [
      store.listSweepable(far, 9),
      store.listExpired({ expireTimeMicros: far }, 9),
      store.listDrafting("", 9),
      store.listRecords({ parentId: "", labels: ["kind=blocked"] }, { limit: 9 }),
    ];
    for (const list of lists) expect(await list).toEqual([]);
    expect((await store.scanRecords("", 9)).map(({ uid }) => uid)).toEqual(["other"]);
    expect(await store.readRecordByUid("u")).toBeNull();
    expect(await database.figures()).toMatchObject({ sessions: 1, unsweptAgeMs: 0 });

    expect(await store.addFork("u", 1)).toBe(false);
    expect(await store.deleteRecord("u")).toBe(false);
    expect(await store.replaceRecord({ ...blocked, revision: 1 }, 0)).toBeNull();
    expect(await store.publishRecord(blocked)).toBe("gone");
    expect(await store.append("u.1", 1, [entry("u.1", 1)])).toBe("unnamed");
    await replaced(store, (await store.readRecord("s")) as SessionRecord, { deleted: true });
    expect(await store.createRecord(blocked)).toBe("exists");
    expect(await rowOf("u")).toMatchObject({ blocked: true });
  });
});

/** Runs the work, whose statement meets this fate, and does more before it can be repeated. */
async function changedMeanwhile<T>(
  isStatement: (text: string) => boolean,
  work: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
  fate: Fate = "answer lost",
): Promise<T> {
  let goOn = () => {};
  const met = proxy.meet((text) => {
    if (!isStatement(text)) return undefined;
    goOn = proxy.hold();
    return fate;
  });
  const answer = work();
  answer.catch(() => {});
  await met.first;
  await meanwhile();
  goOn();
  return answer;
}

async function living(sessionId: string): Promise<SessionRecord> {
  return (await other.readRecord(sessionId)) as SessionRecord;
}

async function rowOf(uid: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await locker.query(`SELECT * FROM ${s}.sessions WHERE uid = $1`, [uid]);
  return rows[0];
}

function blankSession(uid: string, sessionId: string): string {
  return `INSERT INTO ${s}.sessions (uid, namespace, session_id, parent_id, update_time, revision, forks, deleted,
      restoring, blocked, drafts, open_drafts, write, logs, labels, segments, body)
    VALUES ('${uid}', 'default', '${sessionId}', '', 0, 0, 0, false, false, false, 0, 0, 1, '{}', '{}', '[]', '{}')`;
}
