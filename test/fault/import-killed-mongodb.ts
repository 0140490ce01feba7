import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { databaseNameOf, emptyDatabase, openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeKilledImports } from "./import-killed.js";

/** Kills imports at every `stride`-th call to a server of its own. Skips that when there is no server. */
export async function describeOnMongoDb(stride: number): Promise<void> {
  const server = await startMongoServer();
  let database: MongoLogDatabase;

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      database = await openMongoDatabase(server);
    });
    afterAll(async () => {
      await database.close();
      await server?.stop();
    });

    const openStore = async () => ({
      store: database.namespace(randomBytes(8).toString("hex")),
      close: () => emptyDatabase(database.client.db(databaseNameOf(database))),
    });
    describeKilledImports("MongoDB", openStore, { stride });
  });
}
