import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { TABLES } from "../../src/storage/postgres/schema.js";
import { poll } from "../support/poll.js";
import { schemaOf } from "../support/postgres-database.js";
import { FATES, type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import { freshSchemaUrl, startOwnPostgresServer } from "../support/postgres-server.js";
import { ATTACHMENT_OPERATIONS } from "./attachment-operations.js";
import { OPERATIONS, type Operation } from "./store-operations.js";

/** These are not repeated after an unknown outcome, and the list of todos has no mark of its writer to read back. */
const NEVER_TWICE = /^(raiseForks|addFork|addBytes|deleteRecord|replaceTodos)/;

const server = await startOwnPostgresServer({ fast: true });
const operations = [...OPERATIONS, ...ATTACHMENT_OPERATIONS].filter(({ name }) => name !== "touchRecords");
let proxy: PostgresProxy;
let database: PostgresLogDatabase;
let admin: pg.Client;

beforeAll(async () => {
  if (!server) return;
  proxy = await startPostgresProxy(server.process.port);
  const url = new URL(freshSchemaUrl(server));
  url.port = String(proxy.port);
  url.searchParams.set("listen", "off");
  database = await PostgresLogDatabase.connect(url.href);
  admin = new pg.Client(server.url);
  await admin.connect();
});
afterAll(async () => {
  await database?.close();
  await proxy?.close();
  await admin?.end();
  await server?.stop();
});

describe.skipIf(!server).each(operations)("$name", (operation) => {
  it("gives the right answer, or an error where it must, and takes effect once, whenever a connection breaks", async () => {
    const count = await countOf(operation);
    expect(count).toBeGreaterThan(0);
    for (const fate of FATES) {
      for (let nth = 0; nth < count; nth++) {
        const store = await prepare(operation);
        let passed = 0;
        const met = proxy.meet((text) => (isOwn(text) && passed++ === nth ? fate : undefined));
        await expectOutcome(operation, store, `${fate}, statement ${nth + 1} of ${count}`);
        await met.first;
      }
    }
  });

  it("ends with an error in time, and has taken effect once or not at all, when every connection breaks", async () => {
    const store = await prepare(operation);
    let isOver = false;
    const breakNext = () => {
      const met = proxy.meet((text) => (isOwn(text) && !isOver ? "lost" : undefined));
      void met.first.then(breakNext);
    };
    breakNext();
    const ended = operation.run(store, { deadlineMs: Date.now() + 200 });
    const outcome = await ended.then(
      () => "answered",
      ({ code }) => code,
    );
    isOver = true;
    expect(outcome).toBeOneOf(["unavailable", "deadline_exceeded"]);
    await operation.check?.(store, false);
  });
});

/** Notifications of changes are sent between the statements of an operation. */
function isOwn(text: string): boolean {
  return !text.includes("pg_notify");
}

/** Runs the operation, and expects the right answer, or an error where the operation may fail. */
async function expectOutcome(operation: Operation, store: LogStore, fault: string): Promise<void> {
  let isDone = true;
  try {
    expect(await operation.run(store), fault).toEqual(operation.answer);
  } catch (error) {
    if (!(error instanceof DomainError) || !(operation.mayFail || NEVER_TWICE.test(operation.name))) throw error;
    expect(error.code, fault).toBe("unavailable");
    isDone = false;
  }
  await operation.check?.(store, isDone);
}

/** Resolves to how many statements the operation sends. */
async function countOf(operation: Operation): Promise<number> {
  const store = await prepare(operation);
  const before = proxy.statements.filter(isOwn).length;
  await operation.run(store);
  return proxy.statements.filter(isOwn).length - before;
}

/** Makes what the operation needs, in an empty database. */
async function prepare(operation: Operation): Promise<LogStore> {
  // What a broken connection has left running might otherwise happen later.
  const backends = "SELECT pid FROM pg_stat_activity WHERE application_name = 'session-pool'";
  const isQuiet = async () => (await admin.query(backends)).rows.length <= proxy.connections;
  await poll(isQuiet, "the server has noticed which connections have broken");
  const s = schemaOf(database);
  await admin.query(TABLES.map((table) => `DELETE FROM ${s}.${table}`).join(";"));
  const store = database.namespace("default");
  await operation.prepare?.(store);
  return store;
}
