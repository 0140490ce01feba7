import { afterAll, describe } from "vitest";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { describeLogStore } from "./log-store.js";

const server = await startMongoServer();
afterAll(() => server?.stop());

describe.skipIf(!server)("with a server", () => {
  describeLogStore("MongoDB", {
    atomicAppend: false,
    async open() {
      return dropping(await MongoLogDatabase.connect(freshDatabaseUrl(server ?? { uri: "" })));
    },
  });
});

/** Drops the database when it is closed. */
function dropping(database: MongoLogDatabase): MongoLogDatabase {
  const close = database.close.bind(database);
  database.close = async () => {
    await database.client.db(database.name.split("/").at(-1)).dropDatabase();
    await close();
  };
  return database;
}
