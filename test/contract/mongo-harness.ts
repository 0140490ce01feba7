import { randomBytes } from "node:crypto";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { StorageProviderHarness } from "./storage-provider.js";

/** Stores in one MongoDB database: each case has a namespace of its own, which is as good as a database and much faster to make. */
export function mongoHarness(database: () => LogDatabase): StorageProviderHarness {
  return {
    searches: false,
    open: async () => {
      const namespace = randomBytes(8).toString("hex");
      return {
        provider: (options) => new LogHistoryProvider(database().namespace(namespace), options),
        close: async () => {},
      };
    },
  };
}
