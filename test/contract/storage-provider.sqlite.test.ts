import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
      const database = await SqliteLogDatabase.open(path(), { now, search: searches });
      return {
        provider: (options) => new LogHistoryProvider(database.namespace("default"), options),
        close: () => database.close(),
      };
    },
  };
  describeStorageProvider(name, harness);
  // The manager only passes calls on, so one kind of SQLite is enough for it.
  if (isManaged) describeStorageManager(name, harness);
}
