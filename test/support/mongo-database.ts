import type { Db, MongoClientOptions } from "mongodb";
import { MongoLogDatabase, type MongoOptions } from "../../src/storage/mongodb/mongo-log-database.js";
import { freshDatabaseUrl, type MongoServer } from "./mongo-server.js";

const MONITORED: MongoClientOptions = { monitorCommands: true };
const WRITES: ReadonlySet<string> = new Set(["insert", "update", "findAndModify"]);

/** Opens a new database on the server. Closing it drops it, unless the tests throw the server away anyway. */
export async function openMongoDatabase(
  server: MongoServer | null,
  options: MongoOptions = {},
): Promise<MongoLogDatabase> {
  const [database] = await openMongoDatabases(server, 1, options);
  return database as MongoLogDatabase;
}

/**
 * Opens one new database several times at once. The handles are separate processes to each other. Closing the first one
 * drops the database, as above, so it is closed last.
 */
export async function openMongoDatabases(
  server: MongoServer | null,
  count: number,
  options: MongoOptions = {},
): Promise<readonly MongoLogDatabase[]> {
  if (!server) throw new Error("There is no MongoDB server");
  const url = freshDatabaseUrl(server);
  const connect = () => MongoLogDatabase.connect(url, { ...options, driver: { ...MONITORED, ...options.driver } });
  const all = await Promise.all(Array.from({ length: count }, connect));
  const [first] = all as [MongoLogDatabase];
  if (server.process) return all;
  const close = first.close.bind(first);
  first.close = async () => {
    await first.client.db(databaseNameOf(first)).dropDatabase();
    await close();
  };
  return all;
}

const COLLECTIONS = [
  "sessions",
  "departures",
  "feeds",
  "messages",
  "todos",
  "attachments",
  "attachment_pieces",
] as const;

/**
 * Empties all collections of the database, or those of `written`. SecantusDB reads an index from its start, so calls
 * would become slower with each case that leaves something behind.
 */
export async function emptyDatabase(db: Db, written: ReadonlySet<unknown> = new Set(COLLECTIONS)): Promise<void> {
  const names = COLLECTIONS.filter((name) => written.has(name));
  await Promise.all(names.map((name) => db.collection(name).deleteMany({})));
}

/** The names of the collections that these connections have written to, from now on. */
export function collectionsWritten(databases: readonly MongoLogDatabase[]): Set<unknown> {
  const written = new Set<unknown>();
  for (const { client } of databases) {
    client.on("commandStarted", ({ commandName, command }) => {
      if (WRITES.has(commandName)) written.add(command[commandName]);
    });
  }
  return written;
}

export function databaseNameOf({ name }: MongoLogDatabase): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
