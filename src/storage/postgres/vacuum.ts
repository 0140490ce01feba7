import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { DomainError } from "../../domain/errors.js";
import type { VacuumOptions } from "../history/log-store.js";
import { guard } from "./guarded-client.js";
import { NotConnected, postgresError } from "./postgres-errors.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quoted } from "./postgres-url.js";
import { ATTACHMENT_TABLES } from "./schema.js";

const CONNECT_MS = 10_000;
/** How long others get to finish statements that may see old versions. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 500;
const PROGRESS_MS = 500;
const STATISTICS = "pg_catalog.pg_statistic";

const MAY_VACUUM = `SELECT pg_has_role(c.relowner, 'USAGE') OR pg_has_role(d.datdba, 'USAGE')
    OR CASE WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(c.oid, 'MAINTAIN') END
    AS may
  FROM pg_catalog.pg_class AS c, pg_catalog.pg_database AS d
  WHERE c.oid = $1::regclass AND d.datname = current_database()`;

/**
 * Whether neither the table, nor its partitions, nor what they keep out of line hold a row version that a transaction
 * up to this one has replaced or deleted. A vacuum that freezes moves `relfrozenxid` past exactly those transactions
 * whose remains it has cleared away, whatever the language and the version of the server.
 */
const IS_CLEAR = `SELECT bool_and(age(t.relfrozenxid) < age($2::xid8::xid)) AS clear
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_class AS t ON t.oid IN (c.oid, c.reltoastrelid)
  WHERE c.oid = $1::regclass AND c.relkind = 'r' OR c.oid IN (SELECT relid FROM pg_partition_tree($1) WHERE isleaf)`;

/**
 * What may still see versions that were current when this transaction ended. Others' sessions are seen by few roles.
 */
const HOLDERS = `SELECT 'process ' || pid || coalesce(' of role ' || usename, '') || ' (' || coalesce(state, backend_type)
      || coalesce(' since ' || to_char(xact_start, 'YYYY-MM-DD HH24:MI:SS'), '') || ')' AS holder
    FROM pg_catalog.pg_stat_activity
    WHERE pid <> pg_backend_pid() AND greatest(age(backend_xmin), age(backend_xid)) >= age($1::xid8::xid)
  UNION ALL SELECT 'prepared transaction ' || gid FROM pg_catalog.pg_prepared_xacts
    WHERE age(transaction) >= age($1::xid8::xid)
  UNION ALL SELECT 'replication slot ' || slot_name FROM pg_catalog.pg_replication_slots
    WHERE age(xmin) >= age($1::xid8::xid)`;

const PROGRESS = `SELECT heap_blks_scanned, heap_blks_total FROM pg_catalog.pg_stat_progress_vacuum WHERE pid = $1
  UNION ALL SELECT heap_blks_scanned, heap_blks_total FROM pg_catalog.pg_stat_progress_cluster WHERE pid = $1`;

/**
 * Clears away old versions of the rows of messages and attachments, and the samples of words that the planner keeps.
 * `url` leads to the server, if it can be reached past a pooler. Resolves when no old version is left; see
 * `LogDatabase.vacuum`.
 */
export async function vacuum(
  pool: PostgresPool,
  url: string,
  schema: string,
  { full, onProgress }: VacuumOptions,
): Promise<void> {
  const tables = ["messages", ...ATTACHMENT_TABLES].map((table) => `${quoted(schema)}.${table}`);
  const client = await connected(url);
  try {
    for (const table of tables) {
      if (await mayVacuum(client, table)) continue;
      throw new DomainError(
        "failed_precondition",
        `Only the owner of ${table} may vacuum it; let it run VACUUM (FREEZE, ANALYZE) ${tables.join(", ")}`,
      );
    }
    const pid = await liftLimits(client);
    const telling = onProgress && tellProgress(pool, pid, onProgress);
    try {
      const erasedBy = await lastTransaction(client);
      for (const table of tables) await clear(client, table, erasedBy);
      for (const table of full ? tables : []) {
        await client.query(`VACUUM (FULL, ANALYZE) ${table}`);
        await throwUnlessClear(client, table, erasedBy);
      }
      // It has held samples of words, which ANALYZE has replaced.
      if (full && (await mayVacuum(client, STATISTICS))) await client.query(`VACUUM (FULL) ${STATISTICS}`);
    } finally {
      telling?.stop();
    }
  } catch (error) {
    throw postgresError(error);
  } finally {
    await client.end();
  }
}

async function mayVacuum(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query(MAY_VACUUM, [table]);
  return (rows as [{ may: boolean | null }])[0].may === true;
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({
    application_name: "session-pool vacuum",
    connectionString,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  guard(client);
  // What runs is rejected, too.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (cause) {
    throw postgresError(new NotConnected("There is no connection", { cause }));
  }
  return client;
}

/**
 * Lifts the limits of the role on this connection. Not behind a pooler, whose connection somebody else will use next:
 * there the process is not the one that the pooler has told of. Others must not wait long behind a lock that a rewrite
 * does not get. Resolves to the id of the process.
 */
async function liftLimits(client: pg.Client): Promise<number> {
  const { processID } = client as unknown as { readonly processID: number };
  const [{ pid }] = (await client.query("SELECT pg_backend_pid() AS pid")).rows as [{ pid: number }];
  if (pid === processID) await client.query("SET statement_timeout = 0; SET lock_timeout = '10s'");
  return pid;
}

/** Resolves to a transaction that has ended, after all those that erased something before. */
async function lastTransaction(client: pg.Client): Promise<string> {
  const { rows } = await client.query("SELECT pg_current_xact_id()::text AS xid");
  return (rows as [{ xid: string }])[0].xid;
}

/** Vacuums again while somebody may still see old versions: a second time takes little. */
async function clear(client: pg.Client, table: string, erasedBy: string): Promise<void> {
  const giveUpMs = performance.now() + PATIENCE_MS;
  for (;;) {
    await client.query(`VACUUM (FREEZE, ANALYZE) ${table}`);
    if (await isClear(client, table, erasedBy)) return;
    if (performance.now() > giveUpMs) break;
    await sleep(PAUSE_MS);
  }
  await throwUnlessClear(client, table, erasedBy);
}

async function isClear(client: pg.Client, table: string, erasedBy: string): Promise<boolean> {
  const { rows } = await client.query(IS_CLEAR, [table, erasedBy]);
  return (rows as [{ clear: boolean }])[0].clear;
}

async function throwUnlessClear(client: pg.Client, table: string, erasedBy: string): Promise<void> {
  if (await isClear(client, table, erasedBy)) return;
  const { rows } = await client.query(HOLDERS, [erasedBy]);
  const holders = (rows as { holder: string }[]).map(({ holder }) => holder);
  throw new DomainError(
    "failed_precondition",
    `Old versions of rows stay, because something may still see them: ${holders.join(", ") || "a transaction or a standby that this role cannot see"}`,
  );
}

function tellProgress(pool: PostgresPool, pid: number, onProgress: (pages: number, of: number) => void) {
  const stopped = new AbortController();
  const tell = async () => {
    while (!stopped.signal.aborted) {
      const [row] = await pool.read(PROGRESS, [pid], { signal: stopped.signal });
      if (row) onProgress(row[0] as number, row[1] as number);
      await sleep(PROGRESS_MS, undefined, { signal: stopped.signal });
    }
  };
  // Nothing depends on it, and it ends with an error when it is stopped.
  tell().catch(() => {});
  return { stop: () => stopped.abort() };
}
