import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { firstServer } from "./first-server.js";
import { freePort } from "./free-port.js";
import { guardedFolder } from "./guarded-folder.js";
import { findProgram } from "./nginx.js";
import { poll } from "./poll.js";
import { giveTo, serverUser } from "./postgres-folder.js";
import { type PostgresServer, startPostgresServer } from "./postgres-server.js";

const PID_FILE = "pgbouncer.pid";

export interface PgBouncer {
  /** The URL of the same database, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer in transaction mode in front of the server. Each transaction of a client uses another connection of
 * the few that there are, so whatever a client keeps in one is lost or meets others. When there is no PgBouncer, prints
 * one line that says why and resolves to null; in CI it throws.
 */
export function startPgBouncer(server: PostgresServer): Promise<PgBouncer | null> {
  return firstServer("PgBouncer", [async () => startProgram(await findProgram("pgbouncer"), new URL(server.url))]);
}

/**
 * Starts a PostgreSQL server with PgBouncer in front of it. The URL is the pooler's, and stopping it ends both. A store
 * need not spend two seconds to find out that it hears no notification there.
 */
export async function startPooledPostgres(): Promise<PostgresServer | null> {
  const server = await startPostgresServer({ fast: true });
  const pooler = server && (await startPgBouncer(server));
  if (server === null || pooler === null) {
    await server?.stop();
    return null;
  }
  const stop = async () => {
    await pooler.stop();
    await server.stop();
  };
  return { ...server, url: `${pooler.url}?listen=off`, stop };
}

async function startProgram(program: string, target: URL): Promise<PgBouncer> {
  const user = await serverUser();
  const port = await freePort();
  const folder = await guardedFolder("session-pool-pgbouncer-", PID_FILE);
  const parts = [`host=${target.hostname}`, `port=${target.port || "5432"}`, `user=${quoted(target.username)}`];
  if (target.password !== "") parts.push(`password=${quoted(target.password)}`);
  const settings = [
    "[databases]",
    `* = ${parts.join(" ")}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 4",
    "server_round_robin = 1",
    "max_client_conn = 500",
    `pidfile = ${join(folder.path, PID_FILE)}`,
    "",
  ];
  const path = join(folder.path, "pgbouncer.ini");
  await writeFile(path, settings.join("\n"));
  await giveTo(user, folder.path);
  const child = spawn(program, [path], { ...user, cwd: folder.path, env: {}, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  child.once("error", (error) => {
    log += error.message;
  });
  const isUp = () => log.includes("process up");
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  await poll(() => isUp() || hasEnded(), "PgBouncer is up");
  if (!isUp()) {
    await folder.remove();
    throw new Error(`PgBouncer has ended: ${log}`);
  }
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, stop: () => folder.remove() };
}

function quoted(encoded: string): string {
  return `'${decodeURIComponent(encoded).replaceAll("'", "''")}'`;
}
