import { afterAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { openPostgresDatabases, withClock } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { describeLogStore } from "./log-store.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

const openTogether = async (count: number, now: () => number): Promise<readonly LogDatabase[]> =>
  withClock(server, await openPostgresDatabases(server, count), now);

describe.skipIf(!server)("with a server", () => {
  describeLogStore("PostgreSQL", {
    atomicAppend: true,
    open: async (now) => (await openTogether(1, now))[0] as LogDatabase,
    openTogether,
  });
});
