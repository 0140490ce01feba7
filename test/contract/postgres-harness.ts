import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { emptyPostgres, openPostgresDatabases, schemaOf, withClock } from "../support/postgres-database.js";
import { type PostgresServer, query, startPostgresServer } from "../support/postgres-server.js";
import { canExplain, explained, statementsDuring } from "../support/postgres-statements.js";
import { describeLogStore } from "./log-store.js";
import { describeModel } from "./model/describe-model.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";

/** Starts the server of a suite, or what stands in front of it. Resolves to null when there is none. */
export type StartPostgres = () => Promise<PostgresServer | null>;

const startFast: StartPostgres = () => startPostgresServer({ fast: true });

/**
 * Describes a contract on a PostgreSQL server of its own, or skips it when there is none. Each case has its own
 * namespace in one schema, which isolates it as well as a schema would. Every second provider of a case uses a second
 * pool, as another process would.
 */
export async function describeOnPostgres(
  name: string,
  describeContract: (name: string, harness: StorageProviderHarness) => void,
  start: StartPostgres = startFast,
): Promise<void> {
  const server = await start();
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
          const rows = ["messages", "attachments", "attachment_names"].map(
            (table) => `SELECT t::text FROM ${s}.${table} AS t`,
          );
          const pieces = `SELECT encode(bytes, 'escape') FROM ${s}.attachment_pieces`;
          return JSON.stringify(await query(server?.url ?? "", [...rows, pieces].join(" UNION ALL ")));
        },
        close: () => emptyPostgres(server, databases[0] as PostgresLogDatabase),
      };
    },
  };

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      databases = await withClock(server, await openPostgresDatabases(server, 2, { search: "all" }), () => now());
    });
    afterAll(async () => {
      for (const database of databases.toReversed()) await database.close();
      await server?.stop();
    });

    describeContract(name, harness);
  });
}

/** Describes the contract of log stores in the same way. Each case has its own schema. */
export async function describePostgresLogStore(name: string, start: StartPostgres = startFast): Promise<void> {
  const server = await start();
  const explains = await canExplain(server);
  const openTogether = async (count: number, now: () => number): Promise<readonly LogDatabase[]> =>
    withClock(server, await openPostgresDatabases(explains ? explained(server) : server, count), now);

  describe.skipIf(!server)("with a server", () => {
    afterAll(() => server?.stop());

    describeLogStore(name, {
      atomicAppend: true,
      open: async (now) => (await openTogether(1, now))[0] as LogDatabase,
      openTogether,
      ...(explains && { sentDuring: (_: LogDatabase, work: () => Promise<unknown>) => statementsDuring(work) }),
    });
  });
}

/** Describes the model in the same way. A namespace of the one schema isolates a sequence. */
export async function describePostgresModel(name: string, start: StartPostgres = startFast): Promise<void> {
  const server = await start();
  let database: PostgresLogDatabase;
  let now: () => number = Date.now;

  const open = async (clock: () => number): Promise<LogDatabase> => {
    now = clock;
    const namespace = randomBytes(8).toString("hex");
    return {
      name: database.name,
      namespace: () => database.namespace(namespace),
      listNamespaces: () => database.listNamespaces(),
      close: () => emptyPostgres(server, database),
    };
  };

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      [database] = (await withClock(server, await openPostgresDatabases(server, 1), () => now())) as [
        PostgresLogDatabase,
      ];
    });
    afterAll(async () => {
      await database.close();
      await server?.stop();
    });

    describeModel(name, { atomicAppend: true, open }, 8);
  });
}
