import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "libsql";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { DomainError } from "../../src/domain/errors.js";
import { RootPool } from "../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { openFile } from "../../src/storage/sqlite/open-file.js";
import { SqliteConnection } from "../../src/storage/sqlite/sqlite-connection.js";
import { SqliteLogStore } from "../../src/storage/sqlite/sqlite-log-store.js";
import { SqliteStorageProvider } from "../../src/storage/sqlite/sqlite-storage-provider.js";

const SESSIONS = Array.from({ length: 10 }, (_, i) => `s${i}`);
const MORE_PAGES = 400;

let folder: string;
let path: string;
let db: Database.Database;
let connection: SqliteConnection;
let pool: RootPool;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  path = join(folder, "s.db");
  db = await openFile(path);
  connection = new SqliteConnection(db);
  pool = new RootPool({ storage: new LogHistoryProvider(new SqliteLogStore(connection, "default", Date.now)) });
  for (const sessionId of SESSIONS) await pool.sessions.createSession({ sessionId });
});
afterEach(() => rmSync(folder, { recursive: true }));

const pageCount = () => (db.prepare("PRAGMA page_count").raw().get([]) as [number])[0];

it("keeps what it has acknowledged when the disk is full, and stores again once there is room", async () => {
  db.pragma(`max_page_count = ${pageCount() + MORE_PAGES}`);
  const text = "x".repeat(20_000);
  const acknowledged: [string, string][] = [];
  const refusals = new Map<string, number>();
  for (let round = 0; round < 40; round++) {
    const append = async (session: string) => {
      const id = `m${round}`;
      try {
        await pool.sessions.appendMessages(session, [{ id, role: "user", parts: [{ id: "", type: "text", text }] }]);
        acknowledged.push([session, id]);
      } catch (error) {
        const { code, message } = error as DomainError;
        refusals.set(`${code}: ${message}`, (refusals.get(`${code}: ${message}`) ?? 0) + 1);
      }
    };
    await Promise.all(SESSIONS.map(append));
  }
  expect([...refusals.keys()]).toEqual(["unavailable: The disk of the database is full"]);
  expect(acknowledged.length).toBeGreaterThan(10);

  const expectAll = async (sessions: RootPool["sessions"]) => {
    for (const [session, id] of acknowledged) expect(await sessions.getMessage(session, id)).not.toBeNull();
  };
  await expectAll(pool.sessions);
  db.pragma(`max_page_count = ${pageCount() + 10 * MORE_PAGES}`);
  await pool.sessions.appendMessages("s0", [{ id: "after", role: "user", parts: [] }]);
  acknowledged.push(["s0", "after"]);
  await pool.close();
  await connection.close();

  const reopened = new RootPool({ storage: await SqliteStorageProvider.open(path) });
  await expectAll(reopened.sessions);
  await reopened.close();
});
