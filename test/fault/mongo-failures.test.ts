import type { Document, MongoClientOptions } from "mongodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { commandsOf } from "../support/mongo-commands.js";
import { databaseNameOf, openMongoDatabase } from "../support/mongo-database.js";
import { MongoFailpoints } from "../support/mongo-failpoints.js";
import { startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { OPERATIONS, type Operation } from "./mongo-operations.js";

const FOREVER = 1_000_000;
const WRITES: ReadonlySet<string> = new Set(["insert", "update", "delete", "findAndModify"]);

/** The server's state is asked for often: a failure that it only pretends is over at once. */
const POLLING: MongoClientOptions = { serverMonitoringMode: "poll", heartbeatFrequencyMS: 500 };

const FAULTS: Readonly<Record<string, Document>> = {
  NotWritablePrimary: { errorCode: 10107 },
  "a connection cut before the command": { closeConnection: true },
  "a write concern that is not met": { writeConcernError: { code: 64, errmsg: "waiting for replication timed out" } },
  "a write concern that a primary going down does not meet": {
    writeConcernError: { code: 91, errmsg: "shutting down" },
  },
};

const server = await startMongoServer();
let failpoints: MongoFailpoints;

beforeAll(() => {
  if (server) failpoints = new MongoFailpoints(server.uri);
});
afterAll(async () => {
  await failpoints?.close();
  await server?.stop();
});

describe.skipIf(!server)("while the server fails", () => {
  let database: MongoLogDatabase;
  let store: LogStore;

  beforeEach(async () => {
    database = await openMongoDatabase(server, { driver: POLLING });
    store = database.namespace("default");
  });
  afterEach(async () => {
    await failpoints.off();
    await database.close();
  });

  describe.each(OPERATIONS)("$name", (operation) => {
    it("gives the right answer, or the right error, and happens once, whatever fails once", async () => {
      const names = await sentBy(operation);
      for (const [fault, data] of Object.entries(FAULTS)) {
        for (const name of names) {
          if ("writeConcernError" in data && !WRITES.has(name)) continue;
          const fresh = database.namespace(`${fault} ${name}`);
          await clear(database);
          await operation.prepare?.(fresh);
          await failpoints.fail([name], data, 1);
          await expectOutcome(operation, fresh);
          await failpoints.off();
        }
      }
    });

    it("ends with an error in time when it fails for good", async () => {
      const names = await sentBy(operation);
      await clear(database);
      await operation.prepare?.(store);
      await failpoints.fail(names, { errorCode: 10107 }, FOREVER);
      const ended = operation.run(store, { deadlineMs: Date.now() + 300 });
      await expect(ended).rejects.toMatchObject({ code: expect.stringMatching(/^(unavailable|deadline_exceeded)$/) });
      await failpoints.off();
      await operation.check?.(store, false);
    });
  });

  async function sentBy(operation: Operation): Promise<readonly string[]> {
    await operation.prepare?.(store);
    const sent = await commandsOf(database.client, () => operation.run(store));
    return [...new Set(sent.map(({ name }) => name))];
  }
});

describe.skipIf(!server)("an answer lost after the command", () => {
  it.each(OPERATIONS)("$name", async (operation) => {
    const { port } = new URL(server?.uri ?? "");
    const proxy = await startMongoProxy(Number(port));
    const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    const database = await MongoLogDatabase.connect(freshDatabaseUrl({ uri }), {
      driver: { ...POLLING, monitorCommands: true },
    });
    try {
      const store = database.namespace("default");
      await operation.prepare?.(store);
      const sent = await commandsOf(database.client, () => operation.run(store));
      for (const name of new Set(sent.map((command) => command.name))) {
        await clear(database);
        await operation.prepare?.(store);
        const lost = proxy.loseAnswerTo(name);
        await expectOutcome(operation, store);
        await lost;
      }
    } finally {
      await clear(database);
      await database.close();
      await proxy.close();
    }
  });
});

async function expectOutcome(operation: Operation, store: LogStore): Promise<void> {
  let isDone = true;
  try {
    expect(await operation.run(store)).toEqual(operation.answer);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error).toMatchObject({ code: "unavailable" });
    isDone = false;
  }
  await operation.check?.(store, isDone);
}

/** Empties the collections and leaves their keys. */
async function clear(database: MongoLogDatabase): Promise<void> {
  const db = database.client.db(databaseNameOf(database));
  for (const name of ["sessions", "messages", "todos"]) await db.collection(name).deleteMany({});
}
