import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { emptyPostgres, openPostgresDatabase } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { describeKilledImports } from "./import-killed.js";

/** Kills imports at every `stride`-th call to a server of its own. Skips that when there is no server. */
export async function describeOnPostgres(stride: number): Promise<void> {
  const server = await startPostgresServer({ fast: true });
  let database: PostgresLogDatabase;

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      database = await openPostgresDatabase(server);
    });
    afterAll(async () => {
      await database.close();
      await server?.stop();
    });

    const openStore = async () => ({
      store: database.namespace(randomBytes(8).toString("hex")),
      close: () => emptyPostgres(server, database),
    });
    describeKilledImports("PostgreSQL", openStore, { stride });
  });
}
