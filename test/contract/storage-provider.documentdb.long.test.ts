import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { startDocumentDb } from "../support/documentdb.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeStorageProvider } from "./storage-provider.js";

const server = await startMongoServer();
const documentDb = server && (await startDocumentDb(server));
let database: LogDatabase;

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await openMongoDatabase(documentDb);
  });
  afterAll(async () => {
    await database.close();
    await documentDb?.stop();
    await server?.stop();
  });

  // Each case has a namespace of its own: that is as good as a database, and much faster to make.
  describeStorageProvider("DocumentDB", {
    open: async () => {
      const namespace = randomBytes(8).toString("hex");
      return {
        provider: (options) => new LogHistoryProvider(database.namespace(namespace), options),
        close: async () => {},
      };
    },
  });
});
