import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entry, fill, next, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { schemaOf } from "../support/postgres-database.js";
import { type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const CONNECTIONS = 4;
const SOON_MS = 200;

const server = await startOwnPostgresServer({ fast: true });
let proxy: PostgresProxy;
let database: PostgresLogDatabase;
let store: LogStore;
/** Holds a lock. */
let locker: pg.Client;
let s: string;

beforeAll(async () => {
  if (server) proxy = await startPostgresProxy(server.process.port);
});
afterAll(async () => {
  await proxy?.close();
  await server?.stop();
});

beforeEach(async () => {
  if (!server) return;
  locker = new pg.Client(server.url);
  await locker.connect();
  await open(CONNECTIONS);
});
afterEach(async () => {
  proxy?.passCancels();
  await locker?.end();
  await database?.close();
});

async function open(connections: number): Promise<void> {
  await database?.close();
  const url = new URL(freshSchemaUrl(server!));
  url.port = String(proxy.port);
  url.searchParams.set("listen", "off");
  url.searchParams.set("connections", String(connections));
  database = await PostgresLogDatabase.connect(url.href);
  store = database.namespace("default");
  s = schemaOf(database);
  await fill(store, "u.1", 1, 2);
  await fill(store, "other.1", 1, 2);
}

async function lock(uid: string): Promise<void> {
  await locker.query("BEGIN");
  await locker.query(`SELECT 1 FROM ${s}.sessions WHERE uid = $1 FOR UPDATE`, [uid]);
}

function backends(condition = "true"): Promise<readonly Record<string, unknown>[]> {
  const own = "application_name = 'session-pool'";
  return query(server!.url, `SELECT pid, state FROM pg_stat_activity WHERE ${own} AND (${condition}) ORDER BY pid`);
}

const WAITING = "wait_event_type = 'Lock'";

async function untilWaiting(count: number): Promise<void> {
  await poll(async () => (await backends(WAITING)).length === count, `${count} statements wait for a lock`);
}

function append(seq: number, call?: { deadlineMs?: number; signal?: AbortSignal }) {
  return store.append("u.1", seq, [entry("u.1", seq, { id: `m${seq} of ${Math.random()}` })], call);
}

describe.skipIf(!server)("a call that ends while its statement waits for a locked record", () => {
  it.each(["deadline_exceeded", "canceled"])("frees its connection, with %s", async (code) => {
    await open(1);
    const [before] = await backends();
    await lock("u");
    // On a busy machine a deadline may pass before the statement is seen to wait. Then a later one is set.
    for (let [afterMs, hasWaited] = [SOON_MS, false]; !hasWaited; afterMs *= 2) {
      const gone = new AbortController();
      let isOver = false;
      const call = code === "canceled" ? { signal: gone.signal } : { deadlineMs: Date.now() + afterMs };
      const ended = expect(append(3, call).finally(() => (isOver = true))).rejects.toMatchObject({ code });
      ended.catch(() => {});
      await poll(async () => {
        hasWaited = (await backends(WAITING)).length === 1;
        return hasWaited || isOver;
      }, "the statement waits for a lock");
      gone.abort();
      await ended;
    }
    expect(await seqs(store, "other.1", 1, 9)).toEqual([1, 2]);
    // The connection is the same as before: the server has ended the statement, and goes on.
    expect(await backends()).toMatchObject([{ pid: before?.pid }]);
    await locker.query("COMMIT");
    expect(await append(3)).toBe(1);
  });

  it("loses its connection when the server does not take the request to cancel", async () => {
    await open(1);
    const [before] = await backends();
    await lock("u");
    proxy.keepCancels();
    await expect(append(3, { deadlineMs: Date.now() + SOON_MS })).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await seqs(store, "other.1", 1, 9)).toEqual([1, 2]);
    const now = await backends("state = 'idle'");
    expect(now).toHaveLength(1);
    expect(now).not.toMatchObject([{ pid: before?.pid }]);
    await locker.query("COMMIT");
  });
});

describe.skipIf(!server)("a request to cancel that comes late", () => {
  it("hits no other statement, even if the server has ended the first one by itself", async () => {
    await open(1);
    await query(server!.url, "ALTER ROLE session_pool SET statement_timeout = 500");
    await fill(store, "w.1", 1, 1);
    // New connections keep to the limit.
    await query(
      server!.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'session-pool'",
    );
    expect(await seqs(store, "w.1", 1, 9)).toEqual([1]);
    await query(server!.url, "ALTER ROLE session_pool RESET statement_timeout");
    const [limited] = await backends();
    await lock("u");
    proxy.keepCancels();
    await expect(append(3, { deadlineMs: Date.now() + SOON_MS })).rejects.toMatchObject({ code: "deadline_exceeded" });
    await poll(async () => (await backends(WAITING)).length === 0, "the server has ended the statement");
    await locker.query("COMMIT");
    // It waits for the connection, and then for the lock, when the request arrives.
    await lock("other");
    const other = store.append("other.1", 3, [entry("other.1", 3)]);
    await untilWaiting(1);
    expect(await backends(WAITING)).not.toMatchObject([{ pid: limited?.pid }]);
    await proxy.passCancels();
    await untilWaiting(1);
    await locker.query("COMMIT");
    expect(await other).toBe(1);
  });

  it("hits no other statement when calls end at any moment of theirs", async () => {
    await open(2);
    let isOver = false;
    const reading = (async () => {
      while (!isOver) expect(await seqs(store, "other.1", 1, 9)).toEqual([1, 2]);
    })();
    for (let i = 0; i < 300; i++) {
      const gone = new AbortController();
      const ended = store.readRange("u.1", 1, 9, {}, { signal: gone.signal });
      for (let tick = 0; tick < i % 12; tick++) await new Promise((resolve) => setImmediate(resolve));
      gone.abort();
      await ended.catch(({ code }) => expect(code).toBe("canceled"));
    }
    isOver = true;
    await reading;
    expect(proxy.cancels).toBeGreaterThan(0);
  });
});

describe.skipIf(!server)("calls that wait for a connection", () => {
  it("end at their deadline or when they are aborted, and take none", async () => {
    await open(1);
    await lock("u");
    const holding = append(3);
    await untilWaiting(1);
    const gone = new AbortController();
    const aborted = store.readRecord("session of u", { signal: gone.signal });
    aborted.catch(() => {});
    const late = store.readRecord("session of u", { deadlineMs: Date.now() + SOON_MS });
    await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" });
    gone.abort();
    await expect(aborted).rejects.toMatchObject({ code: "canceled" });
    const waiting = seqs(store, "other.1", 1, 9);
    await locker.query("COMMIT");
    expect(await holding).toBe(1);
    expect(await waiting).toEqual([1, 2]);
    expect(await backends()).toHaveLength(1);
  });
});

describe.skipIf(!server)("hundreds of calls that end at once", () => {
  it("leave the pool whole, and no more backends than it has connections", async () => {
    const uids = Array.from({ length: 20 }, (_, i) => `many${i}`);
    for (const uid of uids) await fill(store, `${uid}.1`, 1, 1);
    await locker.query("BEGIN");
    await locker.query(`SELECT 1 FROM ${s}.sessions FOR UPDATE`);
    const gone = Array.from({ length: 300 }, () => new AbortController());
    const calls = gone.map(({ signal }, i) => {
      const uid = uids[i % uids.length] as string;
      if (i % 3 === 0) return store.readRange(`${uid}.1`, 1, 9, {}, { signal });
      return store.append(`${uid}.1`, 2, [entry(`${uid}.1`, 2)], { signal });
    });
    const ended = Promise.allSettled(calls);
    await untilWaiting(CONNECTIONS);
    for (const one of gone) one.abort();
    const codes = (await ended).map((one) => (one.status === "rejected" ? one.reason.code : "answered"));
    expect(codes.filter((code) => code === "canceled").length).toBeGreaterThanOrEqual(200);
    expect(codes.filter((code) => code !== "canceled" && code !== "answered")).toEqual([]);
    // All connections are free again, although the rows are still locked.
    await poll(async () => (await backends(WAITING)).length === 0, "nobody waits for a lock");
    const more = Array.from({ length: 2 * CONNECTIONS }, () => seqs(store, "other.1", 1, 9));
    expect(await Promise.all(more)).toEqual(more.map(() => [1, 2]));
    await poll(async () => (await backends()).length <= CONNECTIONS, "no backend is left over");
    await locker.query("COMMIT");
    for (const uid of uids) expect(await store.append(`${uid}.1`, 2, [entry(`${uid}.1`, 2)])).toBe(1);
  });
});

describe.skipIf(!server)("a locked record", () => {
  it("holds one connection, however many writers wait for it, and others go on", async () => {
    await lock("u");
    const gone = new AbortController();
    const from = await created(store, "sibling");
    const found = (await store.readRecordByUid("u")) ?? from;
    const writers = Array.from({ length: 50 }, (_, i) => {
      const call = i % 5 === 0 ? { signal: gone.signal } : undefined;
      if (i % 10 === 1) return store.addFork("u", 1, call);
      if (i % 10 === 2) return store.seal("u.2", undefined, call);
      if (i % 10 === 3) return store.replaceRecord(next(found, { title: `${i}` }), found.revision, call);
      return append(3, call);
    });
    const ended = Promise.allSettled(writers);
    await untilWaiting(1);
    // Some give up, and others come.
    gone.abort();
    writers.push(append(3), store.addFork("u", -1));
    const late = Promise.all(writers.slice(50));
    for (let seq = 3; seq < 20; seq++) {
      expect(await store.append("other.1", seq, [entry("other.1", seq)])).toBe(1);
      expect((await store.readRecord("session of u"))?.uid).toBe("u");
    }
    expect(await backends(WAITING)).toHaveLength(1);
    await locker.query("COMMIT");
    const answers = (await ended).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(answers.filter((answer) => answer === 1)).toHaveLength(1);
    await late;
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3]);
    expect((await store.readRecordByUid("u"))?.forks).toBe(4);
  });

  it("of todos holds one connection, however many writers wait for it", async () => {
    await store.replaceTodos([], 0);
    await locker.query("BEGIN");
    await locker.query(`SELECT 1 FROM ${s}.todos FOR UPDATE`);
    const writers = Array.from({ length: 10 }, () => store.replaceTodos([], 1));
    await untilWaiting(1);
    expect(await store.append("other.1", 3, [entry("other.1", 3)])).toBe(1);
    expect(await backends(WAITING)).toHaveLength(1);
    await locker.query("COMMIT");
    expect((await Promise.all(writers)).filter(Boolean)).toHaveLength(1);
  });
});
