import { Socket } from "node:net";
import type { Document, MongoClientOptions } from "mongodb";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { DomainError } from "../../src/domain/errors.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { entries, own, seqs } from "../contract/log-store/fixtures.js";
import { commandsOf } from "../support/mongo-commands.js";
import { databaseNameOf, openMongoDatabase } from "../support/mongo-database.js";
import { MongoFailpoints } from "../support/mongo-failpoints.js";
import { startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { ATTACHMENT_OPERATIONS } from "./attachment-operations.js";
import { OPERATIONS, type Operation } from "./store-operations.js";

const FOREVER = 1_000_000;
const MIB = 1024 * 1024;
const WRITES: ReadonlySet<string> = new Set(["insert", "update", "delete", "findAndModify"]);

/**
 * The driver asks for the server's state often, so that it recovers at once from a failure that a failpoint only
 * simulates.
 */
const POLLING: MongoClientOptions = {
  serverMonitoringMode: "poll",
  heartbeatFrequencyMS: 50,
  minHeartbeatFrequencyMS: 50,
};

const FAULTS: Readonly<Record<string, Document>> = {
  NotWritablePrimary: { errorCode: 10107 },
  "a connection cut before the command": { closeConnection: true },
  "a write concern that is not met": { writeConcernError: { code: 64, errmsg: "waiting for replication timed out" } },
  "a write concern that a primary going down does not meet": {
    writeConcernError: { code: 91, errmsg: "shutting down" },
  },
};

interface Expected {
  readonly fault: string;
  readonly mayFail: unknown;
}

const ALL = [...OPERATIONS, ...ATTACHMENT_OPERATIONS];

const server = await startMongoServer();
let failpoints: MongoFailpoints;
let namespaces = 0;

beforeAll(() => {
  if (server) failpoints = new MongoFailpoints(server.uri);
});
afterAll(async () => {
  await failpoints?.close();
  await server?.stop();
});

describe.skipIf(!server)("while the server fails", () => {
  let database: MongoLogDatabase;

  beforeAll(async () => {
    database = await openMongoDatabase(server, { driver: POLLING });
  });
  afterEach(() => failpoints.off());
  afterAll(() => database?.close());

  describe.each(ALL)("$name", (operation) => {
    it("gives the right answer or error, and takes effect once, when anything fails once", async () => {
      const names = await namesOf(operation, database);
      for (const [fault, data] of Object.entries(FAULTS)) {
        for (const name of names) {
          if ("writeConcernError" in data && !WRITES.has(name)) continue;
          const store = await prepare(operation, database);
          await failpoints.fail([name], data, 1);
          const mayFail = operation.mayFail === "ever" || (operation.mayFail && fault !== "NotWritablePrimary");
          await expectOutcome(operation, store, { fault: `${fault}, ${name}`, mayFail });
          await failpoints.off();
        }
      }
    });

    it("ends with an error in time when something fails permanently", async () => {
      const names = await namesOf(operation, database);
      const store = await prepare(operation, database);
      await failpoints.fail(names, { errorCode: 10107 }, FOREVER);
      const ended = operation.run(store, { deadlineMs: Date.now() + 300 });
      const outcome = await ended.then(
        () => "answered",
        ({ code }) => code,
      );
      const known = operation.isKnownByReading ? ["answered"] : [];
      expect(outcome).toBeOneOf(["unavailable", "deadline_exceeded", ...known]);
      await failpoints.off();
      await operation.check?.(store, false);
    });
  });
});

describe.skipIf(!server)("an answer lost after the command", () => {
  let opened: Awaited<ReturnType<typeof openThroughProxy>>;

  beforeAll(async () => {
    opened = await openThroughProxy();
  });
  afterAll(() => opened?.close());

  it.each(ALL)("$name", async (operation) => {
    const { database, proxy } = opened;
    for (const name of await namesOf(operation, database)) {
      const store = await prepare(operation, database);
      const lost = proxy.loseAnswerTo(name);
      await expectOutcome(operation, store, { fault: name, mayFail: operation.mayFail });
      await lost;
    }
  });
});

it.skipIf(!server)(
  "an answer that the driver no longer waits for is not taken for that of the next command",
  async () => {
    const database = await openMongoDatabase(server, { maxPoolSize: 1 });
    const store = database.namespace("default");
    const marker = "the time is over as soon as this is sent";
    const late = { id: "t", content: marker, status: "", priority: "" };
    let laterMs = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + laterMs);
    const { write } = Socket.prototype;
    const sending = vi.spyOn(Socket.prototype, "write").mockImplementation(function (this: Socket, ...args) {
      const isUpdate = Buffer.isBuffer(args[0]) && args[0].includes(marker);
      if (isUpdate) laterMs = 60_000;
      return Reflect.apply(write, this, args);
    });
    try {
      await store.replaceTodos([], 0);
      // The store repeats it, on the same connection if that is still open.
      expect(await store.replaceTodos([late], 1)).toBe(true);
      expect(laterMs).toBeGreaterThan(0);
      expect(await store.readTodos()).toEqual({ todos: [late], revision: 2 });
    } finally {
      sending.mockRestore();
      clock.mockRestore();
      await database.close();
    }
  },
);

it.skipIf(!server)("a connection reset while a large append is written does not fail the append", async () => {
  const { database, proxy, close } = await openThroughProxy();
  try {
    const store = database.namespace("default");
    await own(store, "u.1");
    // So much does not fit into the buffers of a socket.
    const text = "x".repeat(4 * MIB);
    const large = entries("u.1", 1, 3, () => ({ parts: [{ id: "", type: "text", text }] }));
    const hasReset = proxy.resetDuringMessage(8 * MIB);
    expect(await store.append("u.1", 1, large)).toBe(3);
    await hasReset;
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3]);
  } finally {
    await close();
  }
});

/** Opens a new database that is reached through a proxy. */
async function openThroughProxy() {
  const proxy = await startMongoProxy(Number(new URL(server?.uri ?? "").port));
  const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
  const database = await MongoLogDatabase.connect(freshDatabaseUrl({ uri }), {
    driver: { ...POLLING, monitorCommands: true },
  });
  const close = async () => {
    await clear(database);
    await database.close();
    await proxy.close();
  };
  return { database, proxy, close };
}

/** Runs the operation, and expects the right answer, or an error where the operation may fail. */
async function expectOutcome(operation: Operation, store: LogStore, { fault, mayFail }: Expected): Promise<void> {
  let isDone = true;
  try {
    expect(await operation.run(store), fault).toEqual(operation.answer);
  } catch (error) {
    if (!(error instanceof DomainError) || !mayFail) throw error;
    expect(error).toMatchObject({ code: "unavailable" });
    isDone = false;
  }
  await operation.check?.(store, isDone);
}

/** Returns the names of the commands that the operation sends. */
async function namesOf(operation: Operation, database: MongoLogDatabase): Promise<readonly string[]> {
  const store = await prepare(operation, database);
  const sent = await commandsOf(database.client, () => operation.run(store));
  return [...new Set(sent.map(({ name }) => name))];
}

/**
 * Prepares an empty database for the operation. Each time it uses a new namespace, because not every server frees the
 * unique keys of deleted documents.
 */
async function prepare(operation: Operation, database: MongoLogDatabase): Promise<LogStore> {
  await clear(database);
  const store = database.namespace(`namespace ${++namespaces}`);
  await operation.prepare?.(store);
  return store;
}

/** Empties the collections and leaves their indexes. */
async function clear(database: MongoLogDatabase): Promise<void> {
  const db = database.client.db(databaseNameOf(database));
  for (const name of ["sessions", "messages", "todos", "attachments", "attachment_pieces"])
    await db.collection(name).deleteMany({});
}
