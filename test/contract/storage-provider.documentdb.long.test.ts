import { afterAll, beforeAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { startDocumentDb } from "../support/documentdb.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { mongoHarness } from "./mongo-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

const server = await startMongoServer();
const documentDb = server && (await startDocumentDb(server));
let database: LogDatabase;

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    database = await openMongoDatabase(documentDb, { search: true });
  });
  afterAll(async () => {
    await database.close();
    await documentDb?.stop();
    await server?.stop();
  });

  describeStorageProvider(
    "DocumentDB",
    mongoHarness(() => database),
  );
});
