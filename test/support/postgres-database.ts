import pg from "pg";
import type { Call } from "../../src/domain/call.js";
import type { LogDatabase, LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase, type PostgresOptions } from "../../src/storage/postgres/postgres-log-database.js";
import { quoted, readPostgresUrl } from "../../src/storage/postgres/postgres-url.js";
import { TABLES } from "../../src/storage/postgres/schema.js";
import { freshSchemaUrl, type PostgresServer, query } from "./postgres-server.js";

/** Few, because a suite opens many databases on one server. */
const CONNECTIONS = 4;

/** Opens a new schema on the server, which closing it drops. */
export async function openPostgresDatabase(
  server: PostgresServer | null,
  options: PostgresOptions = {},
): Promise<PostgresLogDatabase> {
  const [database] = await openPostgresDatabases(server, 1, options);
  return database as PostgresLogDatabase;
}

/**
 * Opens one new schema several times at once. The handles are separate processes to each other. Closing the first one
 * drops the schema, so it is closed last.
 */
export async function openPostgresDatabases(
  server: PostgresServer | null,
  count: number,
  options: PostgresOptions = {},
): Promise<readonly PostgresLogDatabase[]> {
  if (!server) throw new Error("There is no PostgreSQL server");
  const url = new URL(freshSchemaUrl(server));
  url.searchParams.set("connections", `${CONNECTIONS}`);
  const connect = () => PostgresLogDatabase.connect(url.href, options);
  const all = await Promise.all(Array.from({ length: count }, connect));
  const [first] = all as [PostgresLogDatabase];
  const close = first.close.bind(first);
  first.close = async () => {
    await close();
    await query(server.url, `DROP SCHEMA ${schemaOf(first)} CASCADE`);
  };
  return all;
}

/** Deletes all sessions and messages of a schema. */
export async function emptyPostgres(server: PostgresServer | null, database: PostgresLogDatabase): Promise<void> {
  const s = schemaOf(database);
  await query(server?.url ?? "", `TRUNCATE ${TABLES.map((table) => `${s}.${table}`).join(", ")}`);
}

/** The name of the schema as SQL writes it. */
export function schemaOf({ name }: Pick<PostgresLogDatabase, "name">): string {
  return quoted(readPostgresUrl(name).schema);
}

/**
 * Gives the databases of one schema the clock of a case, in milliseconds since 1970. Each call on a store sets the
 * clock of the database first.
 */
export async function withClock<D extends PostgresLogDatabase>(
  server: PostgresServer | null,
  databases: readonly D[],
  now: () => number,
): Promise<readonly D[]> {
  const [first] = databases as [D];
  const s = schemaOf(first);
  const client = new pg.Client(server?.url);
  await client.connect();
  let setMs = now();
  await client.query(`CREATE TABLE ${s}.clock AS SELECT ${micros(setMs)}::bigint AS micros`);
  await client.query(
    `CREATE OR REPLACE FUNCTION ${s}.now_micros() RETURNS bigint LANGUAGE sql VOLATILE AS $f$ SELECT micros FROM ${s}.clock $f$`,
  );
  const beforeEach = async () => {
    if (now() === setMs) return;
    setMs = now();
    await client.query(`UPDATE ${s}.clock SET micros = ${micros(setMs)}`);
  };
  const close = first.close.bind(first);
  first.close = async (call) => {
    await client.end();
    await close(call);
  };
  return databases.map((database) => setsClock(database, beforeEach));
}

function micros(ms: number): number {
  return Math.floor(ms * 1000);
}

function setsClock<D extends LogDatabase>(database: D, before: () => Promise<void>): D {
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "namespace") return (namespace: string) => timed(target.namespace(namespace), before);
      if (name === "figures") return async (call?: Call) => before().then(() => target.figures?.(call));
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function timed(store: LogStore, before: () => Promise<void>): LogStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await before();
        return Reflect.apply(value, target, args);
      };
    },
  });
}
