import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { databaseNameOf, emptyDatabase, openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeModel } from "./model/describe-model.js";

const server = await startMongoServer({ isKilled: false });
let database: MongoLogDatabase;

/** A namespace of the one database isolates a sequence as well as a database of its own, which takes long to make. */
async function openNamespace(): Promise<LogDatabase> {
  const namespace = randomBytes(8).toString("hex");
  return {
    name: database.name,
    namespace: () => database.namespace(namespace),
    listNamespaces: () => database.listNamespaces(),
    close: () => emptyDatabase(database.client.db(databaseNameOf(database))),
  };
}

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await openMongoDatabase(server);
  });
  afterAll(async () => {
    await database.close();
    await server?.stop();
  });

  describeModel("MongoDB", { atomicAppend: false, hasOwnClock: true, open: openNamespace }, 3);
});
