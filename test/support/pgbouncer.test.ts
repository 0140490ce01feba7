import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { type PgBouncer, startPgBouncer } from "./pgbouncer.js";
import { freshDatabaseUrl, query, startOwnPostgresServer } from "./postgres-server.js";

const server = await startOwnPostgresServer({ password: true });
const pooler: PgBouncer | null = server && (await startPgBouncer(server));
afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

it.skipIf(pooler === null)("shares few connections among many clients, from one transaction to the next", async () => {
  const clients = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const client = new pg.Client(pooler!.url);
      await client.connect();
      return client;
    }),
  );
  const idOf = async (client: pg.Client) => (await client.query("SELECT pg_backend_pid() AS id")).rows[0].id;
  const [first, second] = clients as [pg.Client, pg.Client];
  for (const one of [first, second]) await one.query("BEGIN");
  const two = [await idOf(first), await idOf(second)];
  for (const one of [first, second]) await one.query("COMMIT");
  const seen = new Set([...two, await idOf(first), await idOf(first)]);
  expect(new Set(two).size).toBe(2);
  expect(seen).toEqual(new Set(two));
  expect(new Set(await Promise.all(clients.map(idOf))).size).toBeLessThanOrEqual(4);
  await Promise.all(clients.map((client) => client.end()));
});

it.skipIf(pooler === null)("serves every database of the server", async () => {
  const url = new URL(await freshDatabaseUrl(server!));
  url.host = new URL(pooler!.url).host;
  const [row] = await query(url.href, "SELECT current_database() AS name");
  expect(`/${row?.name}`).toBe(url.pathname);
});
