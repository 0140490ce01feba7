import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SessionCursor } from "../../src/domain/page.js";
import type { SessionOrder } from "../../src/domain/session-order.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore, RecordQueries } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { created, replaced, T0 } from "../contract/log-store/fixtures.js";
import { type MongoProxy, startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

const IDS = ["a", "b", "c", "d"];
const BY_CREATE_TIME: SessionOrder = { by: "create_time", descending: false };
const BY_TITLE: SessionOrder = { by: "title", descending: false };
const BY_UPDATE_TIME: SessionOrder = { by: "update_time", descending: false };

const server = await startMongoServer();

/** Done once after a list has found sessions, and before it reads their records. */
let meanwhile: (() => Promise<unknown>) | undefined;
let proxy: MongoProxy;
let database: MongoLogDatabase;
let store: LogStore;
let provider: LogHistoryProvider;
let namespaces = 0;

beforeAll(async () => {
  if (!server) return;
  proxy = await startMongoProxy(Number(new URL(server.uri).port), {
    refuse: async (name, command) => {
      const work = meanwhile;
      if (name !== "find" || command.filter._id?.$in === undefined || work === undefined) return undefined;
      meanwhile = undefined;
      await work();
      return undefined;
    },
  });
  const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
  database = await MongoLogDatabase.connect(freshDatabaseUrl({ uri }));
});
beforeEach(async () => {
  if (!server) return;
  store = database.namespace(`n${++namespaces}`);
  provider = new LogHistoryProvider(store);
  for (const [i, id] of IDS.entries()) {
    const times = { createTimeMicros: T0 + i, updateTimeMicros: T0 + i };
    await created(store, `${namespaces}${id}`, { sessionId: id, title: id, owner: "ada", ...times });
  }
});
afterEach(async () => {
  expect(meanwhile).toBeUndefined();
  await provider?.close();
});
afterAll(async () => {
  await database?.close();
  await proxy?.close();
  await server?.stop();
});

describe.skipIf(!server)("a list of ada's sessions during which a session changes", () => {
  it.each([BY_CREATE_TIME, BY_TITLE])("leaves out one that is bob's now, and goes on after it: %j", async (order) => {
    meanwhile = () => change("a", { owner: "bob", title: "secret" });
    expect((await listed(order)).map(({ title }) => title)).toEqual(["b", "c", "d"]);
  });

  it("leaves out one that is bob's now when it also asks for a time, and goes on after it", async () => {
    meanwhile = () => change("a", { owner: "bob", title: "secret" });
    const query = { parentId: "", owner: "ada", updatedSinceMicros: T0, order: BY_CREATE_TIME };
    const { records, next } = await (store.queries as RecordQueries).find(query, { limit: 1, lookAt: 2 });
    expect(records.map(({ title }) => title)).toEqual(["b"]);
    expect(next).toEqual({ key: T0 + 1, sessionId: "b" });
  });

  it("has one at the place of its new title, and those between", async () => {
    meanwhile = () => change("a", { title: "z" });
    expect((await listed(BY_TITLE)).map(({ title }) => title)).toEqual(["b", "c", "d", "z"]);
  });

  it("has those between the old and the new update time of one", async () => {
    meanwhile = async () => store.touchRecords?.(new Map([[`${namespaces}a`, T0 + 9]]));
    const found = await listed(BY_UPDATE_TIME);
    const places = found.map(({ sessionId, updateTimeMicros }) => `${sessionId} ${updateTimeMicros - T0}`);
    expect(places).toEqual(["a 0", "b 1", "c 2", "d 3", "a 9"]);
  });
});

async function change(sessionId: string, given: Parameters<typeof replaced>[2]): Promise<void> {
  const record = await store.readRecord(sessionId);
  if (record) await replaced(store, record, given);
}

/** All pages of one session each. */
async function listed(order: SessionOrder) {
  const found = [];
  for (let cursor: SessionCursor | undefined; ; ) {
    const page = await provider.listSessions({ parentId: "", owner: "ada", order, limit: 1, cursor });
    found.push(...page.sessions);
    if (page.next === undefined) return found;
    cursor = page.next;
  }
}
