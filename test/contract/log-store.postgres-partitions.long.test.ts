import { afterAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { schemaScript } from "../../src/storage/postgres/prepare-schema.js";
import { documentedProgram } from "../clients/documented.js";
import { withClock } from "../support/postgres-database.js";
import { freshSchemaUrl, query, startPostgresServer } from "../support/postgres-server.js";
import { describeLogStore } from "./log-store.js";

/** Fewer than on the page, because every case makes them anew. */
const PARTITIONS = 4;

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

/** Opens a new schema in which messages are divided, as docs/operations/postgres-server.md says. */
async function openPartitioned(now: () => number): Promise<LogDatabase> {
  const url = new URL(freshSchemaUrl(server!));
  url.searchParams.set("connections", "4");
  const schema = url.searchParams.get("schema") as string;
  const script = schemaScript(schema, url.username);
  const divided = script.replace(/^\) WITH \(autovacuum_vacuum_insert_\w+ = .*\);$/m, ") PARTITION BY HASH (uid);");
  const partitions = documentedProgram("sql", "PARTITION OF")
    .replaceAll("session_pool.", `${schema}.`)
    .replace("0..15", `0..${PARTITIONS - 1}`)
    .replace("MODULUS 16", `MODULUS ${PARTITIONS}`);
  await query(server!.url, divided, partitions);
  const [database] = await withClock(server, [await PostgresLogDatabase.connect(url.href)], now);
  return database as LogDatabase;
}

describe.skipIf(!server)("with a server", () => {
  describeLogStore("PostgreSQL with partitions", { atomicAppend: true, open: openPartitioned });
});
