import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { emptyPostgres, openPostgresDatabases, schemaOf, withClock } from "../support/postgres-database.js";
import { query, startPostgresServer } from "../support/postgres-server.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";

/**
 * Describes a contract on a PostgreSQL server of its own, or skips it when there is none. Each case has its own
 * namespace in one schema, which isolates it as well as a schema would. Every second provider of a case uses a second
 * pool, as another process would.
 */
export async function describeOnPostgres(
  name: string,
  describeContract: (name: string, harness: StorageProviderHarness) => void,
): Promise<void> {
  const server = await startPostgresServer({ fast: true });
  let databases: readonly PostgresLogDatabase[];
  let now: () => number = Date.now;

  const harness: StorageProviderHarness = {
    searches: true,
    open: async (clock) => {
      now = clock;
      const namespace = randomBytes(8).toString("hex");
      let opened = 0;
      return {
        provider: (options) => {
          const database = databases[opened++ % databases.length] as LogDatabase;
          return new LogHistoryProvider(database.namespace(namespace), options);
        },
        store: () => (databases[0] as LogDatabase).namespace(namespace),
        stored: async () => {
          const s = schemaOf(databases[0] as PostgresLogDatabase);
          return JSON.stringify(await query(server?.url ?? "", `SELECT * FROM ${s}.messages`));
        },
        close: () => emptyPostgres(server, databases[0] as PostgresLogDatabase),
      };
    },
  };

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      databases = await withClock(server, await openPostgresDatabases(server, 2, { search: true }), () => now());
    });
    afterAll(async () => {
      for (const database of databases.toReversed()) await database.close();
      await server?.stop();
    });

    describeContract(name, harness);
  });
}
