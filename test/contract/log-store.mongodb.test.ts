import { afterAll, describe } from "vitest";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeLogStore } from "./log-store.js";

const server = await startMongoServer();
afterAll(() => server?.stop());

describe.skipIf(!server)("with a server", () => {
  describeLogStore("MongoDB", { atomicAppend: false, open: () => openMongoDatabase(server) });
});
