import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { BackupOptions } from "../../../../src/commands/transfer/export-scope.js";
import { writeBackup } from "../../../../src/commands/transfer/export-sessions.js";
import { checkFile, storeBackup } from "../../../../src/commands/transfer/import-sessions.js";
import { RootPool } from "../../../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

export const openMemory = async (): Promise<LogDatabase> => new MemoryLogDatabase();
export const openSqlite = (): Promise<LogDatabase> => SqliteLogDatabase.open(":memory:");
/** Limits that make short histories have many segments and logs. */
export const SMALL = { maxSegments: 4, mergeSegments: 2, maxLogEntries: 3, chunk: 2, maxEdits: 2, editorWaitMs: 1 };

export interface Pool extends RootPool {
  readonly database: LogDatabase;
}

export async function openPool(openDatabase: () => Promise<LogDatabase>): Promise<Pool> {
  const database = await openDatabase();
  const provider = new LogHistoryProvider(database.namespace("default"), SMALL);
  const pool = new RootPool({ storage: provider });
  const close = async () => {
    await pool.storage?.close();
    await database.close();
  };
  return Object.assign(pool, { database, close });
}

export async function backupOf(pool: RootPool, options?: BackupOptions): Promise<string> {
  let text = "";
  await writeBackup(
    pool,
    async (data) => {
      text += data.toString();
    },
    options,
  );
  return text;
}

export async function restore(pool: RootPool, text: string | Uint8Array) {
  return reading(text, async ({ source, sections }) => {
    expect(sections).toHaveLength(1);
    return storeBackup(pool, { source, file: sections[0]!.file });
  });
}

/** What an import finds in a file before it stores anything. */
export async function checked(text: string | Uint8Array) {
  return reading(text, async (opened) => opened);
}

async function reading<T>(text: string | Uint8Array, run: (opened: Opened) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-backup-"));
  const path = join(folder, "backup.jsonl");
  await writeFile(path, text);
  const handle = await open(path);
  try {
    return await run(await checkFile(handle, path));
  } finally {
    await handle.close();
    await rm(folder, { recursive: true });
  }
}

type Opened = Awaited<ReturnType<typeof checkFile>>;

/** The sessions and messages that callers see. */
export async function contents(pool: RootPool): Promise<unknown> {
  const { sessions } = await pool.sessions.listSessions({ limit: 100 });
  const ids = sessions.map(({ sessionId }) => sessionId).sort();
  return Promise.all(
    ids.map(async (id) => [
      await pool.sessions.getSession(id),
      await pool.sessions.getMessages(id, { includeAncestors: true }),
    ]),
  );
}

/** Checks that each `forks` agrees with the other records, and that every entry belongs to a record. */
export async function expectSound(pool: Pool): Promise<void> {
  const report = await pool.sweep({ repair: true });
  expect(report).toMatchObject({ repairedForks: 0, orphans: 0 });
}
