import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { databaseNameOf, emptyDatabase, openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { poll } from "../support/poll.js";
import { describeModel } from "./model/describe-model.js";

const server = await startMongoServer();
let database: MongoLogDatabase;

/**
 * Waits until the server's clock has moved. It moves by whole seconds, and a sweep deletes only what was marked in an
 * earlier second.
 */
async function waitForNextTime(store: LogStore): Promise<void> {
  const beganMs = await store.timeMs();
  await poll(async () => (await store.timeMs()) > beganMs, "the server's clock moves");
}

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await openMongoDatabase(server);
  });
  afterAll(async () => {
    await database.close();
    await server?.stop();
  });

  describeModel(
    "MongoDB",
    async () => {
      const namespace = randomBytes(8).toString("hex");
      const store = database.namespace(namespace);
      return {
        store: () => database.namespace(namespace),
        close: () => emptyDatabase(database.client.db(databaseNameOf(database))),
        sweepAgeMs: 1,
        passTime: () => waitForNextTime(store),
      };
    },
    3,
  );
});
