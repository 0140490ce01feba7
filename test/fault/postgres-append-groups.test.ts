import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entry, own, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { schemaOf } from "../support/postgres-database.js";
import { FATES, type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const SESSIONS = 12;
const LOGS = Array.from({ length: SESSIONS }, (_, i) => `u${i}.1`);

const server = await startOwnPostgresServer({ fast: true });
let proxy: PostgresProxy;
let database: PostgresLogDatabase;
let store: LogStore;
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
  const url = new URL(freshSchemaUrl(server));
  url.searchParams.set("listen", "off");
  url.port = String(proxy.port);
  database = await PostgresLogDatabase.connect(url.href);
  store = database.namespace("default");
  s = schemaOf(database);
  await own(store, ...LOGS);
});
afterEach(() => database?.close());

const appendTo = (log: string, id = "m1") => store.append(log, 1, [entry(log, 1, { id })]);
const isGroup = (text: string) => text.includes("append_group");

/** How many statements with appends were sent during the work. */
async function appendsDuring(work: () => Promise<unknown>): Promise<number> {
  const before = proxy.statements.length;
  await work();
  return proxy.statements.slice(before).filter((text) => text.includes("append_")).length;
}

describe.skipIf(!server)("appends to several sessions at a time", () => {
  it("go in one statement", async () => {
    const sent = await appendsDuring(async () => {
      expect(await Promise.all(LOGS.map((log) => appendTo(log)))).toEqual(LOGS.map(() => 1));
    });
    expect(sent).toBe(1);
    for (const log of LOGS) expect(await seqs(store, log, 1, 9)).toEqual([1]);
  });

  it("go together with those of other namespaces, each by its own rules", async () => {
    const other = database.namespace("other");
    await created(other, "v");
    await appendTo("u0.1");
    await store.seal("u1.1");
    await store.append("u2.1", 1, [entry("u2.1", 1, { id: "taken" })]);
    const answers = () =>
      Promise.all([
        appendTo("u0.1", "late"),
        appendTo("u1.1"),
        store.append("u2.1", 2, [entry("u2.1", 2, { id: "taken" })]),
        other.append("v.1", 1, [entry("v.1", 1)]),
        other.append("u3.1", 1, [entry("u3.1", 1)]),
        appendTo("u4.1"),
      ]);
    expect(await answers()).toEqual([0, 0, "idTaken", 1, "unnamed", 1]);
  });

  it("do not wait for a session whose record is locked", async () => {
    const locker = new pg.Client(server?.url);
    await locker.connect();
    try {
      await locker.query("BEGIN");
      await locker.query(`SELECT 1 FROM ${s}.sessions WHERE uid = 'u0' FOR UPDATE`);
      const [locked, ...others] = LOGS.map((log) => appendTo(log));
      expect(await Promise.all(others)).toEqual(others.map(() => 1));
      // More of them than statements that may be under way for appends.
      for (let seq = 2; seq < 8; seq++) expect(await store.append("u1.1", seq, [entry("u1.1", seq)])).toBe(1);
      await locker.query("COMMIT");
      expect(await locked).toBe(1);
    } finally {
      await locker.end();
    }
  });

  it("do not fail with one that the server refuses", async () => {
    const [refused, ...others] = LOGS.map((log, i) =>
      appendTo(log, i === 0 ? randomBytes(6000).toString("hex") : "m1"),
    );
    const outcome = expect(refused).rejects.toMatchObject({ code: "invalid_argument" });
    expect(await Promise.all(others)).toEqual(others.map(() => 1));
    await outcome;
    expect(await seqs(store, "u0.1", 1, 9)).toEqual([]);
  });

  it.each(FATES)("are stored once when the statement is %s", async (fate) => {
    const met = proxy.meet((text) => (isGroup(text) ? fate : undefined));
    expect(await Promise.all(LOGS.map((log) => appendTo(log)))).toEqual(LOGS.map(() => 1));
    await met.first;
    for (const log of LOGS) expect(await seqs(store, log, 1, 9)).toEqual([1]);
    const rows = await query(server?.url ?? "", `SELECT count(*)::int AS n FROM ${s}.messages`);
    expect(rows).toEqual([{ n: SESSIONS }]);
  });

  it("go on when the call of one of them ends", async () => {
    const release = proxy.hold();
    const gone = new AbortController();
    const [canceled, ...others] = LOGS.map((log, i) =>
      store.append(log, 1, [entry(log, 1)], i === 0 ? { signal: gone.signal } : undefined),
    );
    const outcome = expect(canceled).rejects.toMatchObject({ code: "canceled" });
    await poll(() => proxy.connections > 0, "they are sent");
    gone.abort();
    await outcome;
    release();
    expect(await Promise.all(others)).toEqual(others.map(() => 1));
  });
});
