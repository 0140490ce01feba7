import { afterAll, expect, it } from "vitest";
import type { PostgresLogDatabase } from "../../../../src/storage/postgres/postgres-log-database.js";
import { created } from "../../../contract/log-store/fixtures.js";
import { openPostgresDatabases, withClock } from "../../../support/postgres-database.js";
import { startPostgresServer } from "../../../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

it.skipIf(!server)("the age of a mark counts from the milliseconds that timeMs answers", async () => {
  // The clock of the server has microseconds.
  const databases = await withClock(server, await openPostgresDatabases(server, 1), () => 1_000_000.7);
  const [database] = databases as [PostgresLogDatabase];
  const store = database.namespace("default");
  const markedAtMs = (await store.timeMs()) - 60_000;
  await created(store, "a", { dropped: [{ log: "a.1", first: 1, last: 2, markedAtMs }] });
  expect(await database.figures()).toMatchObject({ unsweptAgeMs: 60_000 });
  await database.close();
});
