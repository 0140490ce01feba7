import { expect, it } from "vitest";
import { POSTGRES_MAJORS } from "./postgres-binaries.js";
import { startPostgresPair } from "./postgres-pair.js";
import { query, startOwnPostgresServer } from "./postgres-server.js";

it.each(POSTGRES_MAJORS)("a server of PostgreSQL %i comes from npm, and can be killed and frozen", async (major) => {
  const server = await startOwnPostgresServer({ major });
  await query(server!.url, "CREATE TABLE kept AS SELECT 1 AS one");
  await server!.process.freeze();
  await server!.process.killAndRestart();
  const rows = await query(server!.url, "SELECT one, current_setting('server_version') AS version FROM kept");
  expect(rows).toEqual([{ one: 1, version: expect.stringMatching(`^${major}\\.`) }]);
  expect(server!.kind).toBe("npm");
  await server!.stop();
});

it.each(POSTGRES_MAJORS)("a standby of PostgreSQL %i takes over from its primary", async (major) => {
  const pair = await startPostgresPair({ synchronous: true, major });
  await query(pair!.url, "CREATE TABLE kept AS SELECT 1 AS one");
  await pair!.primary.process.kill();
  await pair!.promote();
  expect(await query(pair!.standby.url, "SELECT one FROM kept")).toEqual([{ one: 1 }]);
  await pair!.stop();
});
