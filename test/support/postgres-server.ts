import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { firstServer } from "./first-server.js";
import { freePort } from "./free-port.js";
import { installedPostgres, type PostgresMajor, postgresOfNpm } from "./postgres-binaries.js";
import { type FolderOptions, makeServerFolder, PASSWORD, serverUser, USER } from "./postgres-folder.js";
import { type PostgresProcess, startPostgresProcess } from "./postgres-server-process.js";

const NEWEST = 18;

export interface PostgresOptions extends FolderOptions {
  /** The programs come from npm. Otherwise any version will do. */
  readonly major?: PostgresMajor;
}

export interface PostgresServer {
  /** The URL of a database whose user may do everything. */
  readonly url: string;
  /** `given` is the server that POSTGRES_URL names. */
  readonly kind: "given" | "installed" | "npm";
  /** Null when the tests have not started the server, and so must not stop it. */
  readonly process: PostgresProcess | null;
  /** Ends a server that the tests have started. On another one, drops what they have made there. */
  stop(): Promise<void>;
}

export interface OwnPostgresServer extends PostgresServer {
  readonly process: PostgresProcess;
}

/**
 * Starts a PostgreSQL server, or uses the one that POSTGRES_URL names, unless the options ask for more than `fast`.
 * Otherwise it is the newest that is installed, or else the one that npm brings. When there is none, prints one line
 * that says why and resolves to null; in CI it throws.
 */
export function startPostgresServer(options: PostgresOptions = {}): Promise<PostgresServer | null> {
  const { fast: _fast, ...others } = options;
  const givenServer = async () => (Object.keys(others).length === 0 ? givenPostgres() : null);
  return firstServer<PostgresServer>("PostgreSQL", [givenServer, ...waysToStart(options)]);
}

/** Does the same for tests that stop the server, and so never use the one that POSTGRES_URL names. */
export function startOwnPostgresServer(options: PostgresOptions = {}): Promise<OwnPostgresServer | null> {
  return firstServer("PostgreSQL", waysToStart(options));
}

/** Returns the server's URL with a schema that nobody else uses. It is not made yet. */
export function freshSchemaUrl(server: PostgresServer): string {
  const name = freshName();
  madeOn(server).push(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
  const url = new URL(server.url);
  url.searchParams.set("schema", name);
  return url.href;
}

/** Makes an empty database that nobody else uses, and resolves to its URL. */
export async function freshDatabaseUrl(server: PostgresServer): Promise<string> {
  const name = freshName();
  await query(server.url, `CREATE DATABASE ${name}`);
  madeOn(server).push(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs statements on a connection of their own. Resolves to the rows of the last one. */
export async function query(
  url: string,
  ...statements: readonly string[]
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** The statements that drop what the tests have made on a server. */
const MADE = new WeakMap<PostgresServer, string[]>();

function madeOn(server: PostgresServer): string[] {
  const made = MADE.get(server) ?? [];
  MADE.set(server, made);
  return made;
}

function freshName(): string {
  return `test_${randomBytes(6).toString("hex")}`;
}

function givenPostgres(): PostgresServer | null {
  const url = process.env.POSTGRES_URL;
  if (!url) return null;
  const server: PostgresServer = {
    url,
    kind: "given",
    process: null,
    stop: async () => void (await query(url, ...madeOn(server).splice(0))),
  };
  return server;
}

function waysToStart(options: PostgresOptions): (() => Promise<OwnPostgresServer | null>)[] {
  const { major } = options;
  return [
    async function installed() {
      const folder = major === undefined ? await installedPostgres() : null;
      return folder === null ? null : startPostgres("installed", folder, options);
    },
    async function npm() {
      return startPostgres("npm", await postgresOfNpm(major ?? NEWEST), options);
    },
  ];
}

async function startPostgres(
  kind: "installed" | "npm",
  programs: string,
  options: PostgresOptions,
): Promise<OwnPostgresServer> {
  const user = await serverUser();
  const port = await freePort();
  const folder = await makeServerFolder(programs, user, port, options);
  try {
    const server = await startPostgresProcess(join(programs, "postgres"), folder.path, port, user);
    const password = options.password ? `:${encodeURIComponent(PASSWORD)}` : "";
    const url = `postgres://${USER}${password}@127.0.0.1:${port}/postgres`;
    return { url, kind, process: server, stop: () => folder.remove() };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
