import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";

/** Makes harnesses for providers over SQLite, in files of a folder that is removed at the end. */
export function sqliteHarnesses(): (where: "file" | "memory", searches: boolean) => StorageProviderHarness {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  let files = 0;
  afterAll(() => rmSync(folder, { recursive: true }));
  return (where, searches) => ({
    searches,
    open: async (now) => {
      const file = where === "memory" ? ":memory:" : join(folder, `${files++}.db`);
      const database = await SqliteLogDatabase.open(file, { now, search: searches && "all" });
      return {
        stored: where === "memory" ? undefined : async () => bytesOf(folder, file),
        provider: (options) => new LogHistoryProvider(database.namespace("default"), options),
        store: () => database.namespace("default"),
        close: () => database.close(),
      };
    },
  });
}

/** All bytes of a database file and of those beside it. */
function bytesOf(folder: string, file: string): string {
  const names = readdirSync(folder).filter((name) => name.startsWith(basename(file)));
  return names.map((name) => readFileSync(join(folder, name), "latin1")).join();
}
