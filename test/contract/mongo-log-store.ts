import { afterAll, describe } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { commandsOf } from "../support/mongo-commands.js";
import { openMongoDatabase, openMongoDatabases } from "../support/mongo-database.js";
import { servingKey } from "../support/mongo-plan.js";
import { type MongoServer, startMongoServer } from "../support/mongo-server.js";
import type { SentStatement } from "./log-store/subject.js";
import { describeLogStore } from "./log-store.js";

/** Commands that name no documents to find. */
const WRITES: ReadonlySet<string> = new Set(["insert", "getMore"]);

/**
 * Describes the LogStore contract on a server of its own that speaks MongoDB's protocol, or on what `wrap` puts in
 * front of that server. Skips the contract when there is no server.
 */
export async function describeMongoLogStore(
  name: string,
  wrap?: (server: MongoServer) => Promise<MongoServer>,
): Promise<void> {
  const server = await startMongoServer({ isKilled: false });
  const wrapped = server && ((await wrap?.(server)) ?? server);
  afterAll(async () => {
    if (wrapped !== server) await wrapped?.stop();
    await server?.stop();
  });

  describe.skipIf(!server)("with a server", () => {
    describeLogStore(name, {
      atomicAppend: false,
      hasOwnClock: true,
      open: () => openMongoDatabase(wrapped),
      openTogether: (count) => openMongoDatabases(wrapped, count),
      sentDuring: commandsDuring,
    });
  });
}

/** The rules by which `servingKey` looks for an index are those of every planner, with or without statistics. */
async function commandsDuring(database: LogDatabase, work: () => Promise<unknown>): Promise<readonly SentStatement[]> {
  const sent = await commandsOf((database as MongoLogDatabase).client, work);
  return sent.map((command) => ({
    text: JSON.stringify(command),
    scansAll: !WRITES.has(command.name) && servingKey(command) === null,
  }));
}
