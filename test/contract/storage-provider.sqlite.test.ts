import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";
import { describeStorageManager, describeStorageProvider } from "./storage-provider.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
let files = 0;

afterAll(() => rmSync(folder, { recursive: true }));

for (const [name, path, searches, isManaged] of [
  ["a SQLite file", () => join(folder, `${files++}.db`), false, false],
  ["a SQLite file with an index of words", () => join(folder, `${files++}.db`), true, false],
  ["SQLite in memory", () => ":memory:", true, true],
] as const) {
  const harness: StorageProviderHarness = {
    searches,
    open: async (now) => {
      const file = path();
      const database = await SqliteLogDatabase.open(file, { now, search: searches });
      return {
        stored: file === ":memory:" ? undefined : async () => bytesOf(file),
        provider: (options) => new LogHistoryProvider(database.namespace("default"), options),
        store: () => database.namespace("default"),
        close: () => database.close(),
      };
    },
  };
  describeStorageProvider(name, harness);
  // The manager only passes calls on, so one kind of SQLite is enough for it.
  if (isManaged) describeStorageManager(name, harness);
}

/** All bytes of a database file and of those beside it. */
function bytesOf(file: string): string {
  const names = readdirSync(folder).filter((name) => name.startsWith(basename(file)));
  return names.map((name) => readFileSync(join(folder, name), "latin1")).join();
}
