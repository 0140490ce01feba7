import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "libsql";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DatabaseFiles } from "../../../../src/storage/sqlite/database-files.js";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { SqliteConnection } from "../../../../src/storage/sqlite/sqlite-connection.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { SqliteLogStore } from "../../../../src/storage/sqlite/sqlite-log-store.js";

const GONE = {
  code: "unavailable",
  message: "The database file was deleted or replaced while it was open: put it back, or restart the service",
};
const FULL = { code: "unavailable", message: "The disk of the database is full" };
const LOCKED = { code: "unavailable", message: "The database file is locked by another process" };

describe("a SQLite store refuses writes, and reports it when asked,", () => {
  let folder: string;
  let path: string;
  let db: Database.Database;
  let other: Database.Database | undefined;
  let nowMs: number;
  let connection: SqliteConnection;
  let store: SqliteLogStore;
  let revision: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    path = join(folder, "my.db");
    nowMs = 0;
    revision = 0;
    other = undefined;
    await open((real) => real);
    await write();
  });
  afterEach(async () => {
    other?.close();
    await connection.close();
    rmSync(folder, { recursive: true });
  });

  const open = async (wrap: (real: Database.Database) => Database.Database) => {
    db = wrap(await openFile(path));
    const clockMs = () => nowMs;
    connection = new SqliteConnection(db, { files: new DatabaseFiles(path, clockMs), clockMs });
    store = new SqliteLogStore(connection, "default", Date.now);
  };
  /** Opens the file again, on a disk that is full until the test says otherwise. */
  const openOnFullDisk = async () => {
    const disk = { isFull: true };
    await connection.close();
    await open((real) => failingCommits(real, () => disk.isFull));
    return disk;
  };
  const write = async (deadlineMs?: number) => {
    expect(await store.replaceTodos([], revision, { deadlineMs })).toBe(true);
    revision++;
  };
  const move = (end: string, from: string, to: string) => renameSync(`${from}${end}`, `${to}${end}`);
  const aside = () => join(folder, "aside.db");

  it("while the file is gone, until it is back", async () => {
    for (const end of ["", "-wal", "-shm"]) move(end, path, aside());
    await expect(store.ping()).rejects.toMatchObject(GONE);
    const [one, two] = await Promise.allSettled([write(), store.seal("u.1")]);
    expect([one, two]).toMatchObject([{ reason: GONE }, { reason: GONE }]);
    for (const end of ["", "-wal", "-shm"]) move(end, aside(), path);
    await store.ping();
    await write();
    expect(await store.readTodos()).toMatchObject({ revision: 2 });
  });

  it("while another file has its name, and never touches that file", async () => {
    for (const end of ["", "-wal", "-shm"]) move(end, path, aside());
    const successor = await SqliteLogDatabase.open(path);
    expect(await successor.namespace("default").replaceTodos([], 0)).toBe(true);
    await expect(write()).rejects.toMatchObject(GONE);
    await expect(store.ping()).rejects.toMatchObject(GONE);
    await connection.close();
    expect(existsSync(`${path}-wal`)).toBe(true);
    await successor.namespace("default").ping();
    expect(await successor.namespace("default").readTodos()).toMatchObject({ revision: 1 });
    await successor.close();
  });

  it.each(["-wal", "-shm"])(
    "while %s is gone, which a ping notices at once and a write within a second",
    async (end) => {
      move(end, path, aside());
      nowMs = 1000;
      await expect(write()).rejects.toMatchObject(GONE);
      await expect(store.ping()).rejects.toMatchObject(GONE);
      move(end, aside(), path);
      await store.ping();
      await write();
    },
  );

  it("after waiting five seconds for another process's lock, until that is released", async () => {
    other = await openFile(path);
    other.exec("BEGIN IMMEDIATE");
    const tries = vi.spyOn(db, "exec");
    do {
      // On a busy machine, the deadline can pass before the first try.
      await expect(write(Date.now() + 20)).rejects.toMatchObject({ code: "deadline_exceeded" });
    } while (!tries.mock.results.some(({ type }) => type === "throw"));
    nowMs = 4999;
    await store.ping();
    nowMs = 5000;
    await expect(Promise.all([store.ping(), store.ping()])).rejects.toMatchObject(LOCKED);
    other.exec("COMMIT");
    await store.ping();
    await write();
  });

  it("until a write of its own succeeds, even in a process that waits seconds for processor time", async () => {
    const disk = await openOnFullDisk();
    await expect(write()).rejects.toMatchObject(FULL);
    disk.isFull = false;
    nowMs = 5000;
    let timeMs = Date.now();
    const clock = vi.spyOn(Date, "now").mockImplementation(() => {
      timeMs += 2000;
      return timeMs;
    });
    await store.ping().finally(() => clock.mockRestore());
    await store.ping();
  });

  it("when the disk has been full for callers for five seconds, until a write succeeds", async () => {
    const disk = await openOnFullDisk();
    for (nowMs = 0; nowMs < 5000; nowMs += 1000) {
      await expect(write()).rejects.toMatchObject(FULL);
      await store.ping();
    }
    await expect(store.ping()).rejects.toMatchObject(FULL);
    disk.isFull = false;
    await expect(store.ping()).rejects.toMatchObject(FULL);
    await write();
    await store.ping();
  });

  it("when the disk is full and nobody writes, until there is room and a write of its own succeeds", async () => {
    const disk = await openOnFullDisk();
    await expect(write()).rejects.toMatchObject(FULL);
    const room = vi.spyOn(DatabaseFiles.prototype, "freeBytes").mockReturnValue(100_000);
    nowMs = 5000;
    disk.isFull = false;
    await expect(store.ping()).rejects.toMatchObject(FULL);
    room.mockRestore();
    disk.isFull = true;
    await expect(store.ping()).rejects.toMatchObject(FULL);
    disk.isFull = false;
    nowMs = 10_000;
    await store.ping();
  });

  it("until a write of its own has really changed a page", async () => {
    const disk = await openOnFullDisk();
    await expect(write()).rejects.toMatchObject(FULL);
    disk.isFull = false;
    nowMs = 5000;
    other = await openFile(path);
    // The version changes for a connection when another connection has written.
    const version = other.prepare("PRAGMA data_version").raw();
    const before = version.get([]);
    await store.ping();
    expect(version.get([])).not.toEqual(before);
  });
});

/** A database whose commits fail as on a full disk as long as `isFull` returns true. */
function failingCommits(real: Database.Database, isFull: () => boolean): Database.Database {
  return new Proxy(real, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        const result = value.apply(target, values);
        return name === "prepare" && values[0] === "COMMIT" ? failing(result, isFull) : result;
      };
    },
  });
}

function failing<T extends object>(statement: T, isFull: () => boolean): T {
  return new Proxy(statement, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        if (name === "run" && isFull()) {
          throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
        }
        return value.apply(target, values);
      };
    },
  });
}
