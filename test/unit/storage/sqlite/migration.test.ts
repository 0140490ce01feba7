import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compareCodePoints, NEWEST_FIRST, titleKey, titleWords } from "../../../../src/domain/session-order.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { APPLICATION_ID, SCHEMA_VERSION } from "../../../../src/storage/sqlite/schema.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { answeredBefore, answeredNow, releasedStore } from "../../../support/released-store.js";
import { ROOT } from "../../../support/toolchain.js";

/** The schema of version 0.1.0. */
const VERSION_1 = `
CREATE TABLE messages (
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	id TEXT,
	timestamp INTEGER NOT NULL,
	role TEXT NOT NULL,
	session_id TEXT NOT NULL,
	origin TEXT,
	size INTEGER NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (log, id);

CREATE TABLE sessions (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	session_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	forks INTEGER NOT NULL,
	deleted_at INTEGER,
	sweep_at INTEGER,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_uid ON sessions (namespace, uid);
CREATE UNIQUE INDEX sessions_by_id ON sessions (namespace, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_time ON sessions (namespace, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_to_sweep ON sessions (namespace, sweep_at) WHERE forks = 0 AND sweep_at IS NOT NULL;

CREATE TABLE todos (
	namespace TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  path = join(folder, "old.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The JSON of a record in version 0.1.0. */
function body(more: object): string {
  return JSON.stringify({
    ...{ forkPointId: "", inheritedCount: 0, title: "", createTimeMicros: 5, origin: null, version: 3, segments: [] },
    ...{ lastTimestampMicros: 0, ancestry: [], undo: null, sideLog: null, rollovers: { count: 0, atMs: 0 } },
    ...{ dropped: [], edits: [], sources: [] },
    ...more,
  });
}

/** Makes a file of version 0.1.0 with a tombstone, and a session with an older message, a dropped range and a fork. */
function makeOldFile(): void {
  const db = new Database(path);
  db.exec(`PRAGMA page_size = 8192; ${VERSION_1} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1;`);
  const message = db.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, 'user', 'a', NULL, 20, ?)");
  const entries: [string, number, string | null, number][] = [
    ...[1, 2, 3].map((seq): [string, number, string, number] => ["ua.1", seq, `m${seq}`, seq * 10]),
    ["ua.1", 4, null, 0],
    ["ua.s", 1, "older", 15],
    ["ua.2", 1, "m4", 40],
    ["ud.1", 1, "dead", 1],
  ];
  for (const [log, seq, id, time] of entries) message.run([log, seq, id, time, id === null ? "" : '{"parts":[]}']);
  const session = db.prepare("INSERT INTO sessions VALUES (?, 'default', ?, '', 7, ?, ?, ?, ?, ?)");
  const segments = [
    { log: "ua.1", first: 1, last: 1 },
    { log: "ua.s", first: 1, last: 1 },
    { log: "ua.1", first: 2, last: 2 },
  ];
  const dropped = [{ log: "ua.1", first: 3, last: Number.MAX_SAFE_INTEGER, droppedAtMs: 99 }];
  const ofA = {
    log: "ua.2",
    sideLog: "ua.s",
    segments,
    dropped,
    lastTimestampMicros: 20,
    title: "nul\u0000 and \u{1F600}",
  };
  session.run(["ua", "a", 6, 1, null, 99, body(ofA)]);
  session.run(["ub", "b", 1, 0, null, null, body({ log: "ub.1", segments: segments.slice(0, 1), sources: ["ua"] })]);
  session.run(["ud", "d", 2, 0, 98, 98, body({ log: "ud.1" })]);
  db.prepare("INSERT INTO todos VALUES ('default', 2, ?)").run([
    '[{"id":"t","content":"c","status":"","priority":""}]',
  ]);
  db.close();
}

it("migrates a file of version 0.1.0 with everything that it holds", async () => {
  makeOldFile();
  let nowMs = 1_000_000;
  const database = await SqliteLogDatabase.open(path, { now: () => nowMs });
  const store = database.namespace("default");
  const provider = new LogHistoryProvider(store);
  expect(await store.readRecord("a")).toMatchObject({
    ...{
      uid: "ua",
      revision: 6,
      sessionRevision: 3,
      forks: 1,
      log: "ua.2",
      title: "nul\u0000 and \u{1F600}",
      deleted: false,
    },
    namedLogs: [{ log: "ua.s", purpose: "older" }],
    dropped: [{ log: "ua.1", first: 3, last: Number.MAX_SAFE_INTEGER }],
  });
  const ids = async (id: string) => (await provider.getSessionMessages(id)).map((message) => message.id);
  expect(await ids("a")).toEqual(["m1", "older", "m2", "m4"]);
  expect(await ids("b")).toEqual(["m1"]);
  expect(await provider.readTodos()).toMatchObject({ revision: 2, todos: [{ id: "t" }] });
  await provider.logMessages("a", [{ id: "m5", role: "user", parts: [] }]);
  await provider.logMessages("a", [{ id: "older2", role: "user", parts: [], timestampMicros: 12 }]);
  expect(await ids("a")).toEqual(["m1", "older2", "older", "m2", "m4", "m5"]);
  await provider.updateSession("b", { labels: { a: "1" } });
  expect(await store.listRecords({ parentId: "", labels: ["a=1"] }, { limit: 9 })).toMatchObject([{ uid: "ub" }]);
  await provider.deleteSession("b");
  for (let i = 0; i < 3; i++) {
    await provider.sweep();
    nowMs += 600_001;
  }
  expect((await store.scanRecords("", 10)).map(({ uid }) => uid)).toEqual(["ua"]);
  expect(await store.listOrphans(10)).toEqual([]);
  expect((await store.readRange("ua.1", 3, 3)).entries).toEqual([]);
  await provider.close();
  await database.close();
});

it("migrates a file once even when it is opened several times at once, and stores the new version", async () => {
  makeOldFile();
  const databases = await Promise.all(Array.from({ length: 4 }, () => SqliteLogDatabase.open(path)));
  for (const database of databases) {
    expect(await database.namespace("default").readRecord("b")).toMatchObject({ uid: "ub", sources: ["ua"] });
    await database.close();
  }
  const db = new Database(path);
  expect(db.prepare("PRAGMA user_version").raw().get([])).toEqual([SCHEMA_VERSION]);
  expect(db.prepare("SELECT name FROM sqlite_schema WHERE name = 'sessions_1'").all([])).toEqual([]);
  db.close();
});

it("leaves the file unchanged when it cannot be migrated", async () => {
  makeOldFile();
  const db = new Database(path);
  db.prepare("UPDATE sessions SET body = 'no JSON' WHERE uid = 'ub'").run([]);
  db.close();
  await expect(SqliteLogDatabase.open(path)).rejects.toMatchObject({ code: "failed_precondition" });
  const after = new Database(path);
  expect(after.prepare("PRAGMA user_version").raw().get([])).toEqual([1]);
  expect(after.prepare("SELECT count(*) FROM sessions WHERE deleted_at IS NULL").raw().get([])).toEqual([2]);
  after.close();
});

/** Makes the file from a dump. */
function restore(dump: string): void {
  const db = new Database(path);
  db.exec(dump);
  db.close();
}

describe("a file of version 0.2.0", () => {
  beforeEach(() => restore(releasedStore("sqlite.sql")));

  it("is upgraded with everything that it holds, and is then the same as a new one", async () => {
    const database = await SqliteLogDatabase.open(path);
    const store = database.namespace("default");
    const before = answeredBefore("sqlite.answers.jsonl");
    expect(await answeredNow(store)).toEqual(before);
    const labels = ["topic=travel"];
    const all = await store.listRecords({ parentId: "", owner: "" }, { limit: 99 });
    expect(all.map(({ sessionId }) => sessionId).sort()).toEqual(Object.keys(before).sort());
    expect(await store.listRecords({ parentId: "", owner: "", labels }, { limit: 99 })).toHaveLength(3);
    const byTitle = await store.queries?.find(
      { parentId: "", order: { by: "title", descending: false } },
      { limit: 99 },
    );
    const keys = (records: typeof all) => records.map(({ title }) => titleKey(title));
    expect(keys(byTitle?.records ?? [])).toEqual(keys(all).toSorted(compareCodePoints));
    for (const { title, uid } of all) {
      const titled = { parentId: "", titleWords: titleWords(title), order: NEWEST_FIRST };
      expect((await store.queries?.find(titled, { limit: 99 }))?.records.map((one) => one.uid)).toContain(uid);
    }
    expect(await store.usage({})).toEqual({ sessions: all.length, bytes: 0, uncounted: all.length });
    await new LogHistoryProvider(store).updateSession("trip", { owner: "ada" });
    expect(await store.listRecords({ parentId: "", owner: "ada", labels }, { limit: 99 })).toHaveLength(1);
    await database.close();
    const fresh = join(folder, "fresh.db");
    await (await SqliteLogDatabase.open(fresh)).close();
    expect(shapeOf(path)).toEqual(shapeOf(fresh));
  });

  it("stays as it is when the upgrade fails half way, and is upgraded once it can be", async () => {
    const db = new Database(path);
    db.exec("CREATE TABLE labels_by_owner (one INTEGER)");
    db.close();
    const before = shapeOf(path);
    await expect(SqliteLogDatabase.open(path)).rejects.toMatchObject({ code: "failed_precondition" });
    expect(shapeOf(path)).toEqual(before);
    const again = new Database(path);
    expect(again.prepare("PRAGMA user_version").raw().get([])).toEqual([2]);
    again.exec("DROP TABLE labels_by_owner");
    again.close();
    const databases = await Promise.all(Array.from({ length: 4 }, () => SqliteLogDatabase.open(path)));
    expect(await answeredNow((databases[3] as SqliteLogDatabase).namespace("default"))).toEqual(
      answeredBefore("sqlite.answers.jsonl"),
    );
    for (const database of databases) await database.close();
  });
});

describe("a file of a build that had owners and no attachments", () => {
  beforeEach(() => restore(dumped("sqlite.sql")));

  /** A file of `stores-owners`: a store that such a build had made, and what it then answered about each session. */
  function dumped(file: string): string {
    return readFileSync(join(ROOT, "test/support/stores-owners", file), "utf8");
  }

  async function expectEverything(database: SqliteLogDatabase): Promise<void> {
    const store = database.namespace("default");
    const provider = new LogHistoryProvider(store);
    const { sessions } = await provider.listSessions({ parentId: "", limit: 99 });
    const answers = sessions.map(async ({ sessionId, title, labels = {}, owner = "" }) => {
      const messages = (await provider.getSessionMessages(sessionId)).map(({ id, sessionId }) => ({
        info: { id, sessionId },
      }));
      return { sessionId, session: { title, labels, owner }, messages };
    });
    const lines = dumped("sqlite.answers.jsonl").trim().split("\n");
    expect(await Promise.all(answers)).toEqual(lines.map((line) => JSON.parse(line)));
  }

  it("is upgraded with everything that it holds, keeps attachments, and is then the same as a new one", async () => {
    const database = await SqliteLogDatabase.open(path);
    await expectEverything(database);
    const provider = new LogHistoryProvider(database.namespace("default"));
    async function* bytes() {
      yield Buffer.from("bytes");
    }
    await provider.uploadAttachment("owned", { attachmentId: "a" }, bytes());
    const attachment = { attachmentId: "a", mediaType: "", name: "", size: 0, sha256: "" };
    await provider.logMessages("owned", [
      { id: "o2", role: "user", parts: [{ id: "", type: "file", text: "", attachment }] },
    ]);
    expect(await provider.listAttachments("owned", { limit: 9 })).toMatchObject({
      attachments: [{ attachmentId: "a", size: 5, messageIds: ["o2"] }],
    });
    await database.close();
    const fresh = join(folder, "fresh.db");
    await (await SqliteLogDatabase.open(fresh)).close();
    expect(shapeOf(path)).toEqual(shapeOf(fresh));
  });

  it("stays as it is when the upgrade fails half way, and is upgraded once it can be", async () => {
    const db = new Database(path);
    // The tables of attachments and of pieces can be made, that of names cannot.
    db.exec("CREATE TABLE attachment_names (one INTEGER)");
    db.close();
    const before = shapeOf(path);
    await expect(SqliteLogDatabase.open(path)).rejects.toMatchObject({ code: "failed_precondition" });
    expect(shapeOf(path)).toEqual(before);
    const again = new Database(path);
    expect(again.prepare("PRAGMA user_version").raw().get([])).toEqual([3]);
    again.exec("DROP TABLE attachment_names");
    again.close();
    const databases = await Promise.all(Array.from({ length: 4 }, () => SqliteLogDatabase.open(path)));
    for (const database of databases) await expectEverything(database);
    for (const database of databases) await database.close();
  });

  it("is refused once it says that it has attachments and a table of theirs is missing", async () => {
    await (await SqliteLogDatabase.open(path)).close();
    const db = new Database(path);
    db.exec("DROP TABLE attachment_pieces");
    db.close();
    await expect(SqliteLogDatabase.open(path)).rejects.toMatchObject({ code: "failed_precondition" });
  });
});

/** The statements that made the tables and indexes, as SQLite keeps them. */
function shapeOf(file: string): unknown {
  const db = new Database(file);
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").raw().all([]);
  db.close();
  return rows;
}
