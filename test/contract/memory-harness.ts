import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";

export const MEMORY_HARNESS: StorageProviderHarness = {
  searches: true,
  open: async (now) => {
    const database = new MemoryLogDatabase({ now });
    return {
      provider: (options) => new LogHistoryProvider(database.namespace("default"), options),
      stored: async () =>
        JSON.stringify([...database.dump().logs.values()].map(({ entries }) => entries.map(({ body }) => body.parts))),
      close: () => database.close(),
    };
  },
};
