import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import type { StorageProviderHarness } from "./storage-provider.js";

/** Stores in one MongoDB database: each case has a namespace of its own, which is as good as a database and much faster to make. */
export function mongoHarness(database: () => LogDatabase): StorageProviderHarness {
  return {
    searches: true,
    open: async () => {
      const namespace = randomBytes(8).toString("hex");
      return {
        provider: (options) => new LogHistoryProvider(database().namespace(namespace), options),
        close: async () => {},
      };
    },
  };
}

/** Describes a contract on a server of its own that speaks MongoDB's protocol; skips it when there is none. */
export async function describeOnMongo(
  describeContract: (name: string, harness: StorageProviderHarness) => void,
): Promise<void> {
  const server = await startMongoServer();
  let database: LogDatabase;

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      database = await openMongoDatabase(server, { search: true });
    });
    afterAll(async () => {
      await database.close();
      await server?.stop();
    });

    describeContract(
      "MongoDB",
      mongoHarness(() => database),
    );
  });
}
