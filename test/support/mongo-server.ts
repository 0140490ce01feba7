import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { MongoClient } from "mongodb";
import { MongoBinary } from "mongodb-memory-server-core/lib/util/MongoBinary.js";
import { firstServer } from "./first-server.js";
import { type ServerProcess, startServerProcess } from "./mongo-server-process.js";
import { secantusBinary } from "./secantusdb.js";

export interface MongoServer {
  /** A URL without a database name. */
  readonly uri: string;
  /**
   * `mongod` is the real server, `secantusdb` speaks its wire protocol, and `given` is the server that MONGODB_URI
   * names.
   */
  readonly kind: "mongod" | "secantusdb" | "given";
  /** Null when the tests have not started the server, and so must not stop it. */
  readonly process: ServerProcess | null;
  stop(): Promise<void>;
}

/**
 * Starts a server that speaks MongoDB's protocol: the one that MONGODB_URI names, else `mongod` on the PATH, else the
 * one that mongodb-memory-server has downloaded, else SecantusDB in its own Python environment. When there is none,
 * prints one line that says why and resolves to null; in CI it throws. `isKilled`: whether it must keep what it has
 * acknowledged when it is killed. Without that, SecantusDB waits for no disk, which takes a quarter of the time.
 */
export function startMongoServer({ isKilled = true } = {}): Promise<MongoServer | null> {
  const secantusDb = () => startSecantusDb(isKilled);
  return firstServer("MongoDB", [givenServer, mongodOfPath, mongodOfMemoryServer, secantusDb]);
}

/** The server's URL with the name of a database that nobody else uses. */
export function freshDatabaseUrl({ uri }: Pick<MongoServer, "uri">): string {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const [, hosts, query] = /^([^/]+\/\/[^/?]+)\/?[^?]*(\?.*)?$/.exec(uri) ?? [];
  return `${hosts}/${name}${query ?? ""}`;
}

async function givenServer(): Promise<MongoServer | null> {
  const uri = process.env.MONGODB_URI;
  return uri ? { uri, kind: "given", process: null, stop: async () => {} } : null;
}

async function mongodOfPath(): Promise<MongoServer | null> {
  return spawnSync("mongod", ["--version"]).status === 0 ? startMongod("mongod") : null;
}

/**
 * Uses only a binary that is on the machine already. A test run downloads none unless MONGOMS_RUNTIME_DOWNLOAD asks for
 * it.
 */
async function mongodOfMemoryServer(): Promise<MongoServer> {
  process.env.MONGOMS_RUNTIME_DOWNLOAD ??= "false";
  return startMongod(await MongoBinary.getPath({}));
}

async function startMongod(binary: string): Promise<MongoServer> {
  const server = await startServerProcess(binary, (port, folder) => [
    ...["--replSet", "rs0", "--port", String(port), "--dbpath", folder, "--bind_ip", "127.0.0.1"],
    ...["--setParameter", "enableTestCommands=1"],
  ]);
  await initiateReplicaSet(server.port);
  return ownServer("mongod", server);
}

async function startSecantusDb(isSynced: boolean): Promise<MongoServer> {
  const binary = await secantusBinary();
  const server = await startServerProcess(binary, (port, folder) => [
    ...["--host", "127.0.0.1", "--port", String(port), "--storage-path", folder],
    ...["--enable-test-commands", "--log-level", "ERROR", ...(isSynced ? ["--sync-on-commit"] : [])],
  ]);
  return ownServer("secantusdb", server);
}

function ownServer(kind: "mongod" | "secantusdb", server: ServerProcess): MongoServer {
  return { uri: `mongodb://127.0.0.1:${server.port}`, kind, process: server, stop: () => server.stop() };
}

async function initiateReplicaSet(port: number): Promise<void> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`);
  try {
    const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
    await client.db("admin").command({ replSetInitiate: { _id: "rs0", members } });
  } finally {
    await client.close();
  }
}
