import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TlsPaths } from "../../src/server/tls-files.js";
import { type GuardedFolder, guardedFolder } from "./guarded-folder.js";
import { withLock } from "./lock.js";

const run = promisify(execFile);

export const USER = "session_pool";
/** It has characters that a URL must escape. */
export const PASSWORD = "tests: 100% @/?#&";
/** The file in which a server keeps its process id. */
export const PID_FILE = "postmaster.pid";

const CACHE = join(process.cwd(), "node_modules", ".cache");

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  shared_buffers: "32MB",
  max_connections: "200",
  // In files of the folder, so that a server that is killed leaves nothing elsewhere.
  dynamic_shared_memory_type: "mmap",
};

const INITDB = ["--username", USER, "--encoding=UTF8", "--auth=scram-sha-256", "--no-locale", "--no-sync"];
/** Texts must not sort by their bytes unless a statement says so, as on most servers. */
const LOCALE_SINCE_15 = ["--locale-provider=icu", "--icu-locale=en"];

/** A crash of the machine would lose what is stored. Killed processes lose nothing. */
const FAST: Readonly<Record<string, string>> = { fsync: "off", full_page_writes: "off" };

/** Who runs servers. Without ids it is the user of the tests. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

export interface FolderOptions {
  /** Does not wait for the disk. Health checks warn of it, and it is of no use to tests of durability. */
  readonly fast?: boolean;
  /** Asks for a password, by SCRAM. The URL has it. Otherwise whoever connects is trusted. */
  readonly password?: boolean;
  /** Takes only connections with TLS, with this certificate. */
  readonly tls?: TlsPaths;
  /** The URL of a server that has just been started with the same programs. The server becomes its hot standby. */
  readonly standbyOf?: string;
  /** Keeps its files on a disk of its own of this size, which only root can make: see `canMount`. */
  readonly diskMegabytes?: number;
  /** Further settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Makes a folder with the files of a new server. It belongs to the user, and its configuration names the port. */
export async function makeServerFolder(
  programs: string,
  user: ServerUser,
  port: number,
  { fast = false, password = false, tls, standbyOf, diskMegabytes, settings = {} }: FolderOptions,
): Promise<GuardedFolder> {
  const template = await templateOf(programs, user);
  const folder = await guardedFolder("session-pool-postgres-", PID_FILE, diskMegabytes);
  await run("cp", ["-R", `${template}/.`, folder.path]);
  const all = {
    ...SETTINGS,
    ...(fast ? FAST : {}),
    ...(tls ? { ssl: "on" } : {}),
    ...(standbyOf === undefined ? {} : { primary_conninfo: standbyOf }),
    port: String(port),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await appendFile(join(folder.path, "postgresql.conf"), lines.join(""));
  await writeFile(join(folder.path, "pg_hba.conf"), whoMayConnect(password, tls !== undefined));
  // Servers whose files are from one template are the same database system, so no base backup is needed.
  if (standbyOf !== undefined) await writeFile(join(folder.path, "standby.signal"), "");
  if (tls) await copyCertificate(tls, folder.path);
  await giveTo(user, folder.path);
  return folder;
}

/** Resolves to who runs servers. PostgreSQL refuses to run as root. */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return {};
  const names = ["postgres", "nobody"];
  for (const name of names) {
    const ids = await Promise.all(["-u", "-g"].map((option) => run("id", [option, name]))).catch(() => null);
    if (ids) return { uid: Number(ids[0]?.stdout), gid: Number(ids[1]?.stdout) };
  }
  throw new Error(`PostgreSQL refuses to run as root, and there is no user ${names.join(" or ")}`);
}

export async function giveTo({ uid, gid }: ServerUser, path: string): Promise<void> {
  if (uid !== undefined) await run("chown", ["-R", `${uid}:${gid}`, path]);
}

function whoMayConnect(password: boolean, tls: boolean): string {
  const connection = tls ? "hostssl" : "host";
  const method = password ? "scram-sha-256" : "trust";
  return ["all", "replication"].map((database) => `${connection} ${database} all 127.0.0.1/32 ${method}\n`).join("");
}

async function copyCertificate({ certPath, keyPath }: TlsPaths, folder: string): Promise<void> {
  await copyFile(certPath, join(folder, "server.crt"));
  await copyFile(keyPath, join(folder, "server.key"));
  await run("chmod", ["600", join(folder, "server.key")]);
}

/** Resolves to a folder with the files of a new server, which is made once for each version. */
async function templateOf(programs: string, user: ServerUser): Promise<string> {
  const { stdout: version } = await run(join(programs, "postgres"), ["--version"]);
  const args = [...INITDB, ...(Number(/\d+/.exec(version)?.[0]) >= 15 ? LOCALE_SINCE_15 : [])];
  const hash = createHash("sha256")
    .update(JSON.stringify([programs, version, args, PASSWORD]))
    .digest("hex");
  const template = join(CACHE, `postgres-template-${hash.slice(0, 16)}`);
  await mkdir(CACHE, { recursive: true });
  await withLock(`${template}.lock`, async () => {
    if (!existsSync(template)) await makeTemplate(join(programs, "initdb"), args, user, template);
  });
  return template;
}

async function makeTemplate(
  initdb: string,
  args: readonly string[],
  user: ServerUser,
  template: string,
): Promise<void> {
  // The user of the server may not be able to reach the cache.
  const folder = await mkdtemp(join(tmpdir(), "session-pool-postgres-"));
  try {
    const [data, passwordFile] = [join(folder, "data"), join(folder, "password")];
    await writeFile(passwordFile, PASSWORD);
    await giveTo(user, folder);
    const options = { ...user, cwd: folder, env: { LC_ALL: "C" } };
    await run(initdb, ["--pgdata", data, "--pwfile", passwordFile, ...args], options);
    await rm(`${template}.new`, { recursive: true, force: true });
    await run("cp", ["-R", data, `${template}.new`]);
    await rename(`${template}.new`, template);
  } finally {
    await rm(folder, { recursive: true });
  }
}
