import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { describeStorageProvider } from "./storage-provider.js";

const server = await startMongoServer();
let database: MongoLogDatabase;

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await MongoLogDatabase.connect(freshDatabaseUrl(server ?? { uri: "" }));
  });
  afterAll(async () => {
    await database.client.db(database.name.split("/").at(-1)).dropDatabase();
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
