import { LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../../src/storage/history/log-store.js";
import type { LogStoreHarness } from "../log-store/subject.js";
import type { StorageProviderHarness } from "./subject.js";

export interface ProvidersOverOptions<Database extends LogDatabase> {
  /** Whether the databases that the harness opens have an index of words, and so `searchEntries`. */
  readonly searches?: boolean | undefined;
  /** The content of all messages that a database still holds, as text. Absent where a test cannot find it out. */
  stored?(database: Database): Promise<string>;
}

/** Makes the harness of `describeStorageProvider` for histories in a LogStore. */
export function providersOver<Database extends LogDatabase>(
  harness: LogStoreHarness & { open(now: () => number): Promise<Database> },
  { searches = false, stored }: ProvidersOverOptions<Database> = {},
): StorageProviderHarness {
  return {
    searches,
    open: async (now) => {
      const together = await harness.openTogether?.(2, now);
      const databases = (together ?? [await harness.open(now)]) as readonly Database[];
      const first = databases[0] as Database;
      let opened = 0;
      return {
        provider: (options) => {
          const database = databases[opened++ % databases.length] as Database;
          return new LogHistoryProvider(database.namespace("default"), options);
        },
        stored: stored && (() => stored(first)),
        store: () => first.namespace("default"),
        close: async () => {
          for (const database of databases.toReversed()) await database.close();
        },
      };
    },
  };
}
