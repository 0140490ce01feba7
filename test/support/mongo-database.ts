import type { MongoClientOptions } from "mongodb";
import { MongoLogDatabase, type MongoOptions } from "../../src/storage/mongodb/mongo-log-database.js";
import { freshDatabaseUrl, type MongoServer } from "./mongo-server.js";

const MONITORED: MongoClientOptions = { monitorCommands: true };

/** A new database on the server; dropped when it is closed, unless the server is thrown away anyway. */
export async function openMongoDatabase(
  server: MongoServer | null,
  options: MongoOptions = {},
): Promise<MongoLogDatabase> {
  if (!server) throw new Error("No MongoDB server");
  const database = await MongoLogDatabase.connect(freshDatabaseUrl(server), {
    ...options,
    driver: { ...MONITORED, ...options.driver },
  });
  if (server.process) return database;
  const close = database.close.bind(database);
  database.close = async () => {
    await database.client.db(databaseNameOf(database)).dropDatabase();
    await close();
  };
  return database;
}

export function databaseNameOf({ name }: MongoLogDatabase): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
