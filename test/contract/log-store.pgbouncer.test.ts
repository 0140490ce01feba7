import { afterAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { openPostgresDatabases, withClock } from "../support/postgres-database.js";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.js";
import { describeLogStore } from "./log-store.js";

const server = await startPostgresServer({ fast: true });
const pooler = server && (await startPgBouncer(server));
/** Nothing is heard through a pooler in transaction mode, and finding that out takes seconds for each case. */
const pooled: PostgresServer | null = server && pooler && { ...server, url: `${pooler.url}?listen=off` };
afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

const openTogether = async (count: number, now: () => number): Promise<readonly LogDatabase[]> =>
  withClock(pooled, await openPostgresDatabases(pooled, count), now);

describe.skipIf(!pooled)("with a server", () => {
  describeLogStore("PostgreSQL through PgBouncer", {
    atomicAppend: true,
    open: async (now) => (await openTogether(1, now))[0] as LogDatabase,
    openTogether,
  });
});
