import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { APPLICATION_ID, ensureSchema, SCHEMA_VERSION, schemaVersion } from "../../../../src/storage/sqlite/schema.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { fill, seqs } from "../../../contract/log-store/fixtures.js";

describe("opening a SQLite file", () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    path = join(folder, "some folder", "nested", "my.db");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (content: string | Buffer) => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content);
  };
  const make = async () => {
    const database = await SqliteLogDatabase.open(path);
    await fill(database.namespace("a"), "u.1", 1, 200);
    await database.close();
  };
  /** Makes a file that no connection of this process has opened. */
  const makeElsewhere = async () => {
    await make();
    const copy = join(folder, "copy.db");
    copyFileSync(path, copy);
    path = copy;
  };
  const setPragma = (pragma: string) => {
    const db = new Database(path);
    db.exec(`PRAGMA ${pragma}`);
    db.close();
  };
  const refusal = async () => {
    const error = await SqliteLogDatabase.open(path).then(
      () => expect.unreachable("the file was opened"),
      (reason) => reason,
    );
    expect(error).toMatchObject({ name: "DomainError", code: "failed_precondition" });
    return error.message as string;
  };

  it("makes the folder and the file, and opens them again", async () => {
    await make();
    const database = await SqliteLogDatabase.open(path);
    expect(await seqs(database.namespace("a"), "u.1", 199, 300)).toEqual([199, 200]);
    expect(database.name).toBe(`sqlite:${path}`);
    await database.close();
  });

  it("keeps acknowledged writes through a loss of power, and marks the file as ours", async () => {
    const db = await openFile(path);
    const pragma = (name: string) => (db.prepare(`PRAGMA ${name}`).raw().get([]) as unknown[])[0];
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous")).toBe(2);
    expect(pragma("page_size")).toBe(8192);
    expect(pragma("fullfsync")).toBe(1);
    expect(pragma("checkpoint_fullfsync")).toBe(1);
    expect(pragma("application_id")).toBe(APPLICATION_ID);
    expect(pragma("user_version")).toBe(SCHEMA_VERSION);
    db.close();
  });

  it("treats an empty file as a new one", async () => {
    write("");
    await make();
    expect(statSync(path).size).toBeGreaterThan(8192);
  });

  it("refuses a newer version, naming file and versions, and leaves it alone", async () => {
    await make();
    setPragma(`user_version = ${SCHEMA_VERSION + 1}`);
    const before = readFileSync(path);
    expect(await refusal()).toBe(
      `${path} has schema version ${SCHEMA_VERSION + 1}, and this program knows versions up to ${SCHEMA_VERSION}`,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("refuses another program's database, and leaves it alone", async () => {
    write("");
    const db = new Database(path);
    db.exec("CREATE TABLE bookmarks (url TEXT)");
    db.close();
    const before = readFileSync(path);
    expect(await refusal()).toBe(`${path} is a database of another program`);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("refuses a file that is not a database, and leaves it alone", async () => {
    write("All work and no play makes Jack a dull boy. ".repeat(500));
    const before = readFileSync(path);
    expect(await refusal()).toBe(`${path} is damaged or not a SQLite database`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("refuses a truncated file", async () => {
    await makeElsewhere();
    truncateSync(path, 8192);
    expect(await refusal()).toBe(`${path} is damaged or not a SQLite database`);
  });

  it("refuses a file whose first page was overwritten", async () => {
    await makeElsewhere();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, 8192);
    writeFileSync(path, bytes);
    expect(await refusal()).toBe(`${path} is damaged or not a SQLite database`);
  });

  it("refuses a file of ours that lacks a table", async () => {
    await make();
    const db = new Database(path);
    db.exec("DROP TABLE todos");
    db.close();
    expect(await refusal()).toBe(`${path} cannot be opened as a database: no such table: todos`);
  });

  it("refuses a folder", async () => {
    mkdirSync(path, { recursive: true });
    expect(await refusal()).toBe(`${path} cannot be opened as a database: EISDIR: is a directory`);
  });

  it("reports why a folder cannot be made", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    path = join(file, "below", "my.db");
    expect(await refusal()).toBe(
      `Folder ${join(file, "below")} of the database cannot be made: ENOTDIR: not a directory`,
    );
  });

  it.runIf(process.platform === "linux")("refuses a folder that the file system cannot make", async () => {
    path = "/proc/x/y/my.db";
    expect(await refusal()).toBe("Folder /proc/x/y of the database cannot be made: ENOENT: no such file or directory");
  });

  it("reports that the permission to make a file is missing", async () => {
    chmodSync(folder, 0o500);
    path = join(folder, "my.db");
    expect(await asOtherUser(folder, refusal)).toBe(`${path} cannot be made: EACCES: permission denied`);
  });

  // Root may read a file whatever its mode is.
  it.skipIf(process.getuid?.() === 0)("reports that the permission to read a file is missing", async () => {
    await make();
    chmodSync(path, 0o000);
    expect(await refusal()).toBe(`${path} cannot be opened as a database: EACCES: permission denied`);
  });

  it.each(["000", "022"])("lets only the owner read what it makes, with the umask %s", async (umask) => {
    const before = process.umask(Number.parseInt(umask, 8));
    try {
      const database = await SqliteLogDatabase.open(path);
      await fill(database.namespace("a"), "u.1", 1, 1);
      const modes = ["", "-wal", "-shm"].map((end) => modeOf(`${path}${end}`));
      expect(modes).toEqual([0o600, 0o600, 0o600]);
      expect([modeOf(join(path, "..")), modeOf(join(path, "..", ".."))]).toEqual([0o700, 0o700]);
      await database.close();
    } finally {
      process.umask(before);
    }
  });

  it("keeps the modes of an existing file and folder", async () => {
    write("");
    chmodSync(path, 0o640);
    chmodSync(join(path, ".."), 0o750);
    await make();
    expect([modeOf(path), modeOf(join(path, ".."))]).toEqual([0o640, 0o750]);
  });

  it("recognises its own schema even when another process makes it between two looks", async () => {
    write("");
    const db = new Database(path);
    const other = new Database(path);
    let looks = 0;
    const watched = new Proxy(db, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...values: unknown[]) => {
          // The other process makes the schema right after the first look of this one.
          if (name === "prepare" && looks++ === 1) ensureSchema(other, path);
          if (name === "exec" && values[0] === "BEGIN IMMEDIATE" && looks === 1) ensureSchema(other, path);
          return value.apply(target, values);
        };
      },
    });
    ensureSchema(watched, path);
    expect(schemaVersion(db, path)).toBe(SCHEMA_VERSION);
    db.close();
    other.close();
  });

  it("makes the schema once even when the file is opened several times at once", async () => {
    const databases = await Promise.all(Array.from({ length: 8 }, () => SqliteLogDatabase.open(path)));
    for (const [i, database] of databases.entries()) await fill(database.namespace("a"), "u.1", i + 1, i + 1);
    expect(await seqs((databases[0] as SqliteLogDatabase).namespace("a"), "u.1", 1, 9)).toHaveLength(8);
    await Promise.all(databases.map((database) => database.close()));
  });

  it("leaves a file that is complete without its write-ahead log", async () => {
    await make();
    expect(existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0).toBe(0);
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/** Does the work as a user to whom file modes apply: as `nobody` if the tests run as root. */
async function asOtherUser<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  const nobody = 65_534;
  chownSync(folder, nobody, nobody);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
