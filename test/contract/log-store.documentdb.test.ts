import { afterAll, describe } from "vitest";
import { startDocumentDb } from "../support/documentdb.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeLogStore } from "./log-store.js";

const server = await startMongoServer();
const documentDb = server && (await startDocumentDb(server));
afterAll(async () => {
  await documentDb?.stop();
  await server?.stop();
});

describe.skipIf(!server)("with a server", () => {
  describeLogStore("DocumentDB", { atomicAppend: false, open: () => openMongoDatabase(documentDb) });
});
