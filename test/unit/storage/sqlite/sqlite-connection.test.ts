import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { SqliteConnection } from "../../../../src/storage/sqlite/sqlite-connection.js";
import { SqliteLogStore } from "../../../../src/storage/sqlite/sqlite-log-store.js";
import { created, entry, fill, own, seqs } from "../../../contract/log-store/fixtures.js";

describe("a SQLite connection", () => {
  let folder: string;
  let db: Database.Database;
  let other: Database.Database;
  let connection: SqliteConnection;
  let store: SqliteLogStore;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    db = await openFile(join(folder, "my.db"));
    other = await openFile(join(folder, "my.db"));
    connection = new SqliteConnection(db);
    store = new SqliteLogStore(connection, "default", Date.now);
    await own(store, "u.1", "v.1");
  });
  afterEach(async () => {
    if (other.open) other.close();
    await connection.close();
    rmSync(folder, { recursive: true });
  });

  /** Counts the commits of a connection while `work` runs. Its clock advances by `tickMs` at each reading. */
  const commitsDuring = async (tickMs: number, work: () => Promise<unknown>) => {
    let nowMs = 0;
    const clockMs = () => {
      nowMs += tickMs;
      return nowMs;
    };
    const statements: string[] = [];
    const counting = new Proxy(db, {
      get: (target, name) => {
        if (name !== "prepare") return Reflect.get(target, name, target);
        return (sql: string) => countRuns(target.prepare(sql), () => statements.push(sql));
      },
    });
    const counted = new SqliteConnection(counting, { clockMs });
    store = new SqliteLogStore(counted, "default", Date.now);
    await work();
    return statements.filter((sql) => sql === "COMMIT").length;
  };

  it("shares one commit among all writes that wait at the same moment", async () => {
    const logs = Array.from({ length: 20 }, (_, i) => `u${i}.1`);
    await own(store, ...logs);
    const commits = await commitsDuring(0, async () => {
      const appends = logs.map((log) => store.append(log, 1, [entry(log, 1)]));
      expect(await Promise.all([...appends, store.seal("v.1"), created(store, "w")])).toMatchObject([
        ...logs.map(() => 1),
        0,
        { uid: "w" },
      ]);
    });
    expect(commits).toBe(1);
  });

  it("begins another transaction when one has taken 20 ms", async () => {
    const logs = Array.from({ length: 8 }, (_, i) => `u${i}.1`);
    await own(store, ...logs);
    const commits = await commitsDuring(5, () => Promise.all(logs.map((log) => store.append(log, 1, [entry(log, 1)]))));
    expect(commits).toBe(2);
  });

  it("does not let a write that throws affect others in its transaction", async () => {
    const half = () => {
      connection.statements.insertTodos.run("half", "[]");
      throw new Error("a mistake in the program");
    };
    const outcomes = await Promise.allSettled([
      store.append("u.1", 1, [entry("u.1", 1)]),
      connection.write(half, undefined),
      store.append("v.1", 1, [entry("v.1", 1)]),
    ]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: { code: "internal", message: "The database failed" } },
      { status: "fulfilled", value: 1 },
    ]);
    expect(connection.statements.readTodos.get("half")).toBeUndefined();
    expect(await store.findById(["u.1", "v.1"], ["m1"])).toHaveLength(2);
  });

  it("answers unavailable when the disk is full, and continues once there is room", async () => {
    await fill(store, "u.1", 1, 1);
    const [pages] = db.prepare("PRAGMA page_count").raw().get([]) as [number];
    db.exec(`PRAGMA max_page_count = ${pages}`);
    const text = "x".repeat(100_000);
    const big = store.append("u.1", 2, [entry("u.1", 2, { parts: [{ id: "", type: "text", text }] })]);
    await expect(big).rejects.toMatchObject({ code: "unavailable", message: "The disk of the database is full" });
    db.exec("PRAGMA max_page_count = 1000000");
    expect(await store.append("u.1", 2, [entry("u.1", 2)])).toBe(1);
  });

  it("waits for another process's lock without blocking the event loop", async () => {
    other.exec("BEGIN IMMEDIATE");
    let answered = false;
    const append = store.append("u.1", 1, [entry("u.1", 1)]).finally(() => {
      answered = true;
    });
    for (let turn = 0; turn < 200; turn++) await setImmediate();
    expect(answered).toBe(false);
    other.exec("COMMIT");
    expect(await append).toBe(1);
  });

  it("ends the wait with the call", async () => {
    other.exec("BEGIN IMMEDIATE");
    const gone = new AbortController();
    const timely = store.append("u.1", 1, [entry("u.1", 1)], { deadlineMs: Date.now() + 50 });
    const canceled = store.seal("u.1", 0, { signal: gone.signal });
    const patient = store.append("v.1", 1, [entry("v.1", 1)]);
    gone.abort();
    await Promise.all([
      expect(timely).rejects.toMatchObject({ code: "deadline_exceeded" }),
      expect(canceled).rejects.toMatchObject({ code: "canceled" }),
    ]);
    expect(await store.tail("u.1")).toMatchObject({ last: null, state: "open" });
    other.exec("ROLLBACK");
    expect(await patient).toBe(1);
    expect(await store.tail("u.1")).toMatchObject({ last: null, state: "open" });
  });

  it("reads while another process writes", async () => {
    await fill(store, "u.1", 1, 3);
    other.exec("BEGIN IMMEDIATE");
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3]);
    other.exec("COMMIT");
  });

  it("reads a session and its newest messages at one moment, whatever other processes write between its statements", async () => {
    await fill(store, "u.1", 1, 3);
    const segments = [{ log: "u.1", first: 1, last: 3 }];
    await created(store, "f", { sessionId: "s", segments, lastTimestampMicros: 0 });
    await fill(store, "f.1", 1, 1);
    const read = connection.statements.readNewest;
    const original = read.get;
    read.get = (...values) => {
      const row = original.apply(read, values);
      other.exec("DELETE FROM messages WHERE log = 'u.1'");
      return row;
    };
    const ids = async () => {
      const newest = await store.readNewest("s", { limit: 9, maxBytes: 1e6 });
      return newest?.messages.entries.map(({ log, seq }) => `${log} ${seq}`);
    };
    expect(await ids()).toEqual(["f.1 1", "u.1 3", "u.1 2", "u.1 1"]);
    expect(await ids()).toEqual(["f.1 1"]);
    await fill(store, "f.1", 2, 2);
  });

  it("leaves no transaction open when a read at one moment fails", async () => {
    const failing = connection.read(
      () =>
        connection.atOneMoment(() => {
          throw new Error("broken");
        }),
      undefined,
    );
    await expect(failing).rejects.toMatchObject({ cause: { message: "broken" } });
    expect(db.inTransaction).toBe(false);
    await fill(store, "u.1", 1, 1);
  });

  it("ends every read, so that the write-ahead log can be truncated", async () => {
    await fill(store, "u.1", 1, 300, () => ({ parts: [{ id: "", type: "text", text: "x".repeat(2000) }] }));
    await store.readRange("u.1", 1, 300, { limit: 250 });
    await store.readRange("u.1", 1, 300, { maxBytes: 50_000 });
    await store.tail("u.1");
    await store.readNewest("session of u", { limit: 9, maxBytes: 1000 });
    await store.findById(["u.1"], ["m1", "m2"]);
    await store.seqAtTime("u.1", 1, 300, 0);
    await store.readTodos();
    const [busy] = other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().get([]) as [number];
    expect(busy).toBe(0);
  });

  it("gives up writes that still wait for a lock at the deadline of close", async () => {
    other.exec("BEGIN IMMEDIATE");
    const append = store.append("u.1", 1, [entry("u.1", 1)]).catch((error: unknown) => error);
    await connection.close({ deadlineMs: Date.now() + 20 });
    expect(await append).toMatchObject({
      code: "unavailable",
      message: "The database was closed before this could be written",
    });
    other.exec("COMMIT");
    expect(other.prepare("SELECT seq FROM messages").raw().all([])).toEqual([]);
  });

  it("finishes waiting writes before it closes, and answers unavailable afterwards", async () => {
    const append = store.append("u.1", 1, [entry("u.1", 1)]);
    await Promise.all([connection.close(), connection.close()]);
    expect(await append).toBe(1);
    await expect(store.append("u.1", 2, [entry("u.1", 2)])).rejects.toMatchObject({ code: "unavailable" });
    await expect(store.readTodos()).rejects.toMatchObject({ code: "unavailable" });
    await expect(store.ping()).rejects.toMatchObject({ code: "unavailable" });
    expect(other.prepare("SELECT seq FROM messages").raw().all([])).toEqual([[1]]);
  });
});

function countRuns<T extends object>(statement: T, onRun: () => void): T {
  return new Proxy(statement, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        if (name === "run") onRun();
        return value.apply(target, values);
      };
    },
  });
}
