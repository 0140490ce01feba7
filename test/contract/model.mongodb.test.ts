import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { describeModel } from "./model/describe-model.js";

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

  describeModel(
    "MongoDB",
    async () => {
      const namespace = randomBytes(8).toString("hex");
      return { store: () => database.namespace(namespace), close: async () => {}, sweepAgeMs: 1 };
    },
    3,
  );
});
