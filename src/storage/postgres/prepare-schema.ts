import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { DomainError } from "../../domain/errors.js";
import type { SearchOption, SearchScope } from "../../domain/search.js";
import { functionsSql } from "./functions.js";
import { listSessions } from "./listing.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quoted } from "./postgres-url.js";
import {
  ATTACHMENT_TABLES,
  attachmentsSql,
  NEWEST_TABLES,
  ownersSql,
  SCHEMA_VERSION,
  schemaSql,
  TABLES,
  upgradeSql,
} from "./schema.js";
import { type SEARCH_INDEXES, searchIndexSql } from "./search-schema.js";

type SearchIndex = keyof typeof SEARCH_INDEXES;

const ALWAYS: readonly SearchIndex[] = ["messages_by_words", "messages_by_time"];
const EARLIER = "messages_without_words";
/** The indexes that a scope needs. */
const NEEDED: Readonly<Record<SearchScope, readonly SearchIndex[]>> = {
  text: [...ALWAYS, "messages_lacking_text"],
  all: [...ALWAYS, "messages_lacking_all"],
};
const OLDEST_SERVER = 140_000;
const INSUFFICIENT_PRIVILEGE = "42501";
const UNSUPPORTED = "0A000";
/** Another process makes the same index: it is there already, or was made or dropped meanwhile. */
const OTHERS_AT_WORK: ReadonlySet<string> = new Set(["42P07", "42704", "23505", "40P01", "XX000"]);
const WAIT_MS = 500;
/** Something else may have the name of the index, for ever. */
const MOST_ATTEMPTS = 20;
const FIND_META = `SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = 'meta'`;

export interface PrepareOptions {
  readonly schema: string;
  /** Whether a missing schema is made; if not, it is `failed_precondition`. */
  readonly create: boolean;
  /** As in PostgresOptions. */
  readonly search: SearchOption;
}

/**
 * Makes what is missing, and upgrades the tables of an older version; any number of processes may do so at once.
 * Resolves to what of messages is in the index of words; undefined where they are not searched. An index never gets
 * narrower, so that processes with different settings do not undo each other's work. `failed_precondition`: the server
 * is too old, the database has another encoding or isolation, a newer version made the tables, or the role may not make
 * or upgrade them.
 */
export async function prepareSchema(pool: PostgresPool, options: PrepareOptions): Promise<SearchScope | undefined> {
  const { schema, search } = options;
  await checkServer(pool);
  const found = await versionOf(pool, schema);
  if (found === undefined) await pool.withClient((client) => makeSchema(client, options));
  if (isOlder(found)) await pool.withClient((client) => upgradeSchema(client, schema));
  const version = await versionOf(pool, schema);
  if (version === undefined) {
    throw new DomainError("failed_precondition", `Table meta of schema ${quoted(schema)} is not session-pool's`);
  }
  if (version > SCHEMA_VERSION) {
    throw new DomainError(
      "failed_precondition",
      `Schema ${quoted(schema)} has version ${version}, made by a newer version; this one knows ${SCHEMA_VERSION}`,
    );
  }
  await listSessions(pool, quoted(schema));
  if (search === false) return undefined;
  const present = await indexedScope(pool, schema);
  if (search === "existing" || present === "all") return present;
  const scope = search === "all" ? "all" : "text";
  for (const name of NEEDED[scope]) await ensureIndex(pool, schema, name);
  await dropEarlier(pool, schema);
  return await indexedScope(pool, schema);
}

/** The SQL that upgrades the tables of any older version, for roles that may not: somebody else runs it. */
export function upgradeScript(schema: string, role: string): string {
  const s = quoted(schema);
  return `BEGIN;
DO $upgrade$ BEGIN
IF (SELECT version FROM ${s}.meta WHERE id = 1) = 1 THEN
${ownersSql(schema)}END IF;
IF (SELECT version FROM ${s}.meta WHERE id = 1) < 3 THEN
${attachmentsSql(schema)}END IF;
END $upgrade$;
${upgradeSql(schema, 3)}
GRANT SELECT, INSERT, UPDATE, DELETE ON ${tablesOf(s, [...ATTACHMENT_TABLES, ...NEWEST_TABLES])} TO ${quoted(role)};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${s} TO ${quoted(role)};
COMMIT;
`;
}

function isOlder(version: unknown): version is 1 | 2 | 3 {
  return version === 1 || version === 2 || version === 3;
}

function tablesOf(s: string, names: readonly string[]): string {
  return names.map((name) => `${s}.${name}`).join(", ");
}

/** All of the SQL, for roles that may not create a schema: somebody else runs it, and grants the role what it needs. */
export function schemaScript(schema: string, role: string): string {
  const s = quoted(schema);
  const statement = (name: SearchIndex) => `${searchIndexSql(schema, name, false)};`;
  return `BEGIN;
${schemaSql(schema)}${functionsSql(schema)}

-- Only for --search.
${NEEDED.text.map(statement).join("\n")}

-- Only for --search=all: remove the dashes.
-- ${statement("messages_lacking_all")}

GRANT USAGE ON SCHEMA ${s} TO ${quoted(role)};
GRANT SELECT ON ${s}.meta TO ${quoted(role)};
GRANT SELECT, INSERT, UPDATE, DELETE ON ${tablesOf(s, TABLES)} TO ${quoted(role)};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${s} TO ${quoted(role)};
COMMIT;
`;
}

async function checkServer(pool: PostgresPool): Promise<void> {
  const text = `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
    current_setting('server_encoding'), current_setting('default_transaction_isolation')`;
  const [row] = await pool.runFirst(text);
  const [number, version, encoding, isolation] = row as [number, string, string, string];
  if (number < OLDEST_SERVER) {
    throw new DomainError("failed_precondition", `PostgreSQL ${version} is too old; the store needs 14 or newer`);
  }
  if (encoding !== "UTF8") {
    throw new DomainError("failed_precondition", `The database has the encoding ${encoding}; the store needs UTF8`);
  }
  // Otherwise a write that has waited for another one would not see what that has stored.
  if (!isolation.startsWith("read ")) {
    throw new DomainError(
      "failed_precondition",
      `default_transaction_isolation is ${isolation} for this role and database; the store needs read committed`,
    );
  }
}

/** Undefined when the tables are missing. Asked of the catalog, because to_regclass may answer from a stale cache. */
async function versionOf(pool: PostgresPool, schema: string): Promise<number | undefined> {
  if ((await pool.run(FIND_META, [schema], undefined, false)).length === 0) return undefined;
  const [row] = await pool.run(`SELECT version FROM ${quoted(schema)}.meta WHERE id = 1`, [], undefined, false);
  return row?.[0] as number | undefined;
}

async function makeSchema(client: pg.ClientBase, { schema, create, search }: PrepareOptions): Promise<void> {
  if (!create) {
    throw new DomainError("failed_precondition", `There is no session-pool in schema ${quoted(schema)}`);
  }
  const refusal = `The role may not make schema ${quoted(schema)}`;
  await alone(client, schema, { refusal, command: "schema" }, async () => {
    if ((await client.query(FIND_META, [schema])).rows.length > 0) return;
    const found = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [schema]);
    await client.query(schemaSql(schema, { isMade: found.rows.length > 0 }) + functionsSql(schema));
    const isWanted = search !== false && search !== "existing";
    for (const name of isWanted ? NEEDED[search === "all" ? "all" : "text"] : [])
      await client.query(searchIndexSql(schema, name, false));
  });
}

async function upgradeSchema(client: pg.ClientBase, schema: string): Promise<void> {
  const refusal = `The role may not upgrade schema ${quoted(schema)}`;
  await alone(client, schema, { refusal, command: "schema --upgrade" }, async () => {
    const { rows } = await client.query(`SELECT version FROM ${quoted(schema)}.meta WHERE id = 1`);
    const version: unknown = rows[0]?.version;
    if (isOlder(version)) await client.query(upgradeSql(schema, version));
  });
}

/** One transaction, under a lock for which processes that start together wait. */
async function alone(
  client: pg.ClientBase,
  schema: string,
  { refusal, command }: { readonly refusal: string; readonly command: string },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`session-pool ${schema}`]);
    await work();
    await client.query("COMMIT");
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new DomainError(
      "failed_precondition",
      `${refusal} (${error.message}); \`session-pool ${command}\` prints the SQL for a role that may`,
      { cause: error },
    );
  }
}

/** Earlier versions found the messages that lack words by another index, which is of no more use. */
async function dropEarlier(pool: PostgresPool, schema: string): Promise<void> {
  if ((await stateOf(pool, schema, EARLIER)) === "missing") return;
  await pool.withClient(async (client) => {
    try {
      await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${quoted(schema)}.${EARLIER}`);
    } catch (error) {
      // A role that may make no indexes may drop none, and another process may do so now.
      if (!(error instanceof pg.DatabaseError)) throw error;
    }
  });
}

async function indexedScope(pool: PostgresPool, schema: string): Promise<SearchScope | undefined> {
  for (const scope of ["all", "text"] as const) {
    const states: string[] = [];
    for (const name of NEEDED[scope]) states.push(await stateOf(pool, schema, name));
    if (states.every((state) => state === "valid")) return scope;
  }
  return undefined;
}

function needsScript(schema: string, name: SearchIndex, cause: Error): DomainError {
  const text = `Index ${name} is missing, and PostgreSQL makes none on ${quoted(schema)}.messages, which is divided, while others write; run ${searchIndexSql(schema, name, false)}`;
  return new DomainError("failed_precondition", text, { cause });
}

/**
 * Makes an index while others write. What an earlier attempt has left half made is dropped first, unless somebody is
 * still making it.
 */
async function ensureIndex(pool: PostgresPool, schema: string, name: SearchIndex): Promise<void> {
  for (let attempts = 0; ; ) {
    const state = await stateOf(pool, schema, name);
    if (state === "valid") return;
    if (state === "building") {
      await sleep(WAIT_MS);
      continue;
    }
    const sql = searchIndexSql(schema, name, true);
    const statements =
      state === "invalid" ? [`DROP INDEX CONCURRENTLY IF EXISTS ${quoted(schema)}.${name}`, sql] : [sql];
    await pool.withClient(async (client) => {
      try {
        for (const statement of statements) await client.query(statement);
      } catch (error) {
        if (error instanceof pg.DatabaseError && error.code === UNSUPPORTED) throw needsScript(schema, name, error);
        const isOthers = error instanceof pg.DatabaseError && OTHERS_AT_WORK.has(error.code ?? "");
        if (!isOthers || ++attempts === MOST_ATTEMPTS) throw error;
        await sleep(WAIT_MS);
      }
    });
  }
}

async function stateOf(
  pool: PostgresPool,
  schema: string,
  name: string,
): Promise<"missing" | "building" | "invalid" | "valid"> {
  const text = `SELECT i.indisvalid AND i.indisready, EXISTS (
      SELECT 1 FROM pg_catalog.pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid
    )
    FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
    WHERE n.nspname = $1 AND c.relname = $2`;
  const [row] = await pool.run(text, [schema, name], undefined, false);
  if (row === undefined) return "missing";
  const [isValid, isBuilding] = row;
  if (isValid) return "valid";
  return isBuilding ? "building" : "invalid";
}
