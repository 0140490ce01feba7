import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeStorageProvider } from "./storage-provider.js";

const server = await startMongoServer();
let database: LogDatabase;

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await openMongoDatabase(server);
  });
  afterAll(async () => {
    await database.close();
    await server?.stop();
  });

  // Each case has a namespace of its own: that is as good as a database, and much faster to make.
  describeStorageProvider("MongoDB", {
    open: async () => {
      const namespace = randomBytes(8).toString("hex");
      return {
        provider: (options) => new LogHistoryProvider(database.namespace(namespace), options),
        close: async () => {},
      };
    },
  });
});
