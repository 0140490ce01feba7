import { randomBytes } from "node:crypto";
import { type Db, MongoClient } from "mongodb";
import { afterAll, beforeAll, describe } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { collectionsOf } from "../../src/storage/mongodb/mongo-collections.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { collectionsWritten, databaseNameOf, emptyDatabase, openMongoDatabases } from "../support/mongo-database.js";
import { type MongoServer, startMongoServer } from "../support/mongo-server.js";
import type { StorageProviderHarness } from "./storage-provider/subject.js";

/**
 * Stores in one MongoDB database. Each case has its own namespace, which isolates it as well as a database would and is
 * much faster to make. Each provider of a case gets the next of the given connections, so that the first three
 * are separate processes to each other.
 */
function mongoHarness(
  connections: () => readonly LogDatabase[],
  db: () => Db,
  written: () => Set<unknown>,
): StorageProviderHarness {
  return {
    searches: true,
    open: async () => {
      const namespace = randomBytes(8).toString("hex");
      let opened = 0;
      return {
        provider: (options) => {
          const all = connections();
          const database = all[opened++ % all.length] as LogDatabase;
          return new LogHistoryProvider(database.namespace(namespace), options);
        },
        store: () => (connections()[0] as LogDatabase).namespace(namespace),
        stored: async () => {
          const { messages, attachments, pieces } = collectionsOf(db());
          const bytes = (await pieces.find({}, { promoteBuffers: true }).toArray()).map((one) => String(one.bytes));
          return JSON.stringify([await messages.find().toArray(), await attachments.find().toArray(), bytes]);
        },
        close: async () => {
          await emptyDatabase(db(), written());
          written().clear();
        },
      };
    },
  };
}

/**
 * Describes a contract on a server of its own that speaks MongoDB's protocol, or on what `wrap` puts in front of that
 * server. Skips the contract when there is no server.
 */
export async function describeOnMongo(
  name: string,
  describeContract: (name: string, harness: StorageProviderHarness) => void,
  wrap?: (server: MongoServer) => Promise<MongoServer>,
): Promise<void> {
  const server = await startMongoServer({ isKilled: false });
  const wrapped = server && (await wrap?.(server));
  let connections: readonly MongoLogDatabase[];
  /** The collections that hold something. */
  let written: Set<unknown>;
  /** Leads to the server itself. What stands in front of it may refuse commands. */
  let client: MongoClient;

  describe.skipIf(!server)("with a server", () => {
    beforeAll(async () => {
      connections = await openMongoDatabases(wrapped ?? server, 3, { search: "all" });
      written = collectionsWritten(connections);
      client = new MongoClient(server?.uri ?? "");
    });
    afterAll(async () => {
      await client.close();
      for (const database of connections.toReversed()) await database.close();
      await wrapped?.stop();
      await server?.stop();
    });

    describeContract(
      name,
      mongoHarness(
        () => connections,
        () => client.db(databaseNameOf(connections[0] as MongoLogDatabase)),
        () => written,
      ),
    );
  });
}
