import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { emptyPostgres, openPostgresDatabase, withClock } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { describeModel } from "./model/describe-model.js";

const server = await startPostgresServer({ fast: true });
let database: PostgresLogDatabase;
let now: () => number = Date.now;

/** A namespace of the one schema isolates a sequence as well as a schema of its own. */
async function openNamespace(clock: () => number): Promise<LogDatabase> {
  now = clock;
  const namespace = randomBytes(8).toString("hex");
  return {
    name: database.name,
    namespace: () => database.namespace(namespace),
    listNamespaces: () => database.listNamespaces(),
    close: () => emptyPostgres(server, database),
  };
}

describe.skipIf(!server)("with a server", () => {
  beforeAll(async () => {
    const [timed] = await withClock(server, [await openPostgresDatabase(server)], () => now());
    database = timed as PostgresLogDatabase;
  });
  afterAll(async () => {
    await database.close();
    await server?.stop();
  });

  describeModel("PostgreSQL", { atomicAppend: true, open: openNamespace }, 8);
});
