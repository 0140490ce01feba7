import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { SearchTable } from "../../../../src/storage/sqlite/search-table.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { created, fill } from "../../../contract/log-store/fixtures.js";

/** More than are counted at once. */
const MANY = 12_345;

describe("figures of a SQLite file", () => {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-figures-"));
  const path = join(folder, "figures.db");
  let database: SqliteLogDatabase;

  beforeEach(async () => {
    database = await SqliteLogDatabase.open(path);
  });
  afterEach(async () => {
    await database.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("count more sessions and drafts than are read in one step", async () => {
    await created(database.namespace("default"), "first", { drafts: [] });
    repeatInSql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY})
      INSERT INTO sessions SELECT 'u' || i, 'ns' || (i % 3), 0, 's' || i, '', 0, NULL, 0, 0, NULL, 'u' || i || '.1', NULL,
        '[{"log":"u.d","messageId":"m"}]', body, '', NULL, NULL, NULL, NULL, NULL, NULL FROM n, (SELECT body FROM sessions WHERE uid = 'first')`);
    expect(await database.figures()).toMatchObject({ sessions: MANY + 1, openDrafts: MANY });
  });

  it("tell the size of the file and its write-ahead log", async () => {
    await fill(database.namespace("default"), "a.1", 1, 100);
    const { bytes } = await database.figures();
    expect(bytes).toBe(statSync(path).size + statSync(`${path}-wal`).size);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  });

  it("count the messages that the index lacks: those of before and those that wait", async () => {
    await fill(database.namespace("default"), "a.1", 1, 5);
    expect((await database.figures()).unindexed).toBeUndefined();
    expect(await unindexed()).toEqual({ upTo10: 5, upTo3: 3 });
    await database.close();
    database = await SqliteLogDatabase.open(path, { search: true });
    await database.searchBuilt();
    expect((await database.figures()).unindexed).toBe(0);
    await database.close();
    database = await SqliteLogDatabase.open(path);
    await fill(database.namespace("default"), "a.1", 6, 9);
    expect(await unindexed()).toEqual({ upTo10: 4, upTo3: 3 });
  });

  /** Looks at the file without a process that adds to the index meanwhile. */
  async function unindexed() {
    const db = await openFile(path, { search: true });
    const table = new SearchTable(db);
    const counts = { upTo10: table.unindexed(10), upTo3: table.unindexed(3) };
    db.close();
    return counts;
  }

  function repeatInSql(sql: string): void {
    const db = new Database(path);
    db.exec(sql);
    db.close();
  }
});
