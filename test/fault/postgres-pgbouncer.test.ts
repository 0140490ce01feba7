import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entry } from "../contract/log-store/fixtures.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const server = await startOwnPostgresServer();
const pooler = server && (await startPgBouncer(server));
afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

const WAITING = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

/** PgBouncer hands out connections by transaction. */
describe.skipIf(!pooler)("through PgBouncer", () => {
  let url: URL;
  let schema: string;
  let opened: PostgresLogDatabase[];
  let notices: string[];
  let anomalies: string[];

  beforeEach(() => {
    url = new URL(freshSchemaUrl(server!));
    schema = url.searchParams.get("schema") ?? "";
    url.host = new URL(pooler!.url).host;
    opened = [];
    notices = [];
    anomalies = [];
  });
  afterEach(async () => {
    for (const database of opened) await database.close();
  });

  async function open(listen?: string): Promise<LogStore> {
    const at = new URL(url);
    if (listen !== undefined) at.searchParams.set("listen", listen);
    const options = {
      onNotice: (text: string) => notices.push(text),
      onAnomaly: (text: string) => anomalies.push(text),
    };
    const database = await PostgresLogDatabase.connect(at.href, options);
    opened.push(database);
    return database.namespace("default");
  }

  /** Keeps the row of a record locked while `work` runs. */
  async function whileLocked(uid: string, work: () => Promise<void>): Promise<void> {
    const client = new pg.Client(server!.url);
    await client.connect();
    await client.query("BEGIN");
    await client.query(`SELECT FROM ${schema}.sessions WHERE uid = $1 FOR UPDATE`, [uid]);
    try {
      await work();
    } finally {
      await client.end();
    }
  }

  it("nothing is heard, which is said, and watchers see everything all the same", async () => {
    const providers = [new LogHistoryProvider(await open()), new LogHistoryProvider(await open())] as const;
    const [reader, writer] = providers;
    expect(notices).toEqual(Array(2).fill(expect.stringContaining("watchers poll")));
    await writer.createSession({ sessionId: "s" });
    const events = (await reader.followMessages("s", 0))[Symbol.asyncIterator]();
    for (let i = 0; i < 5; i++) {
      await writer.logMessages("s", [{ id: `m${i}`, role: "user", parts: [] }]);
      expect((await events.next()).value).toMatchObject({ kind: "appended", message: { id: `m${i}` } });
    }
    expect(anomalies).toEqual([]);
    for (const provider of providers) await provider.close();
  });

  it("others are heard on a connection of its own to the server", async () => {
    const store = await open(server!.url);
    const told: string[] = [];
    await store.subscribe?.((uid) => told.push(uid));
    await created(await open("off"), "made");
    await expect.poll(() => told).toEqual(["made"]);
    expect(notices).toHaveLength(1);
  });

  it("no connection keeps anything of those who have used it", async () => {
    const store = await open();
    await created(store, "s");
    await Promise.all(Array.from({ length: 40 }, () => store.readRecordByUid("s")));
    const { rows } = await onEach(url.href, [
      "SELECT count(*) FROM pg_prepared_statements",
      "SELECT count(*) FROM pg_listening_channels()",
      "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
      "SELECT count(*) FROM pg_settings WHERE source = 'session' AND name !~ 'application_name|client_encoding'",
      "SELECT count(*) FROM pg_class WHERE relpersistence = 't'",
    ]);
    expect(rows.length).toBeGreaterThan(5);
    expect(new Set(rows)).toEqual(new Set([0]));
  });

  it("a write that has ended at its deadline is ended at the server, too", async () => {
    const store = await open("off");
    await created(store, "s");
    await whileLocked("s", async () => {
      const late = store.append("s.1", 1, [entry("s.1", 1)], { deadlineMs: Date.now() + 300 });
      await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" });
      await expect.poll(() => query(server!.url, WAITING)).toEqual([]);
    });
    expect(await store.append("s.1", 1, [entry("s.1", 1)])).toBe(1);
  });

  it("the settings of the role hold", async () => {
    const role = `r${schema}`;
    await query(server!.url, `CREATE ROLE ${role} LOGIN SUPERUSER`, `ALTER ROLE ${role} SET lock_timeout = '100ms'`);
    // This pooler logs on to the server as the role.
    const asRole = new URL(server!.url);
    asRole.username = role;
    const other = await startPgBouncer({ ...server!, url: asRole.href });
    url.host = new URL(other!.url).host;
    const store = await open("off");
    await created(store, "s");
    await whileLocked("s", async () => {
      const refused = store.append("s.1", 1, [entry("s.1", 1)]);
      await expect(refused).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("lock") });
    });
    await other?.stop();
  });
});

/** What statements that count something answer on each connection of the pooler, which hands them out in turn. */
async function onEach(url: string, statements: readonly string[]): Promise<{ readonly rows: readonly number[] }> {
  const client = new pg.Client(url);
  await client.connect();
  const rows: number[] = [];
  for (const statement of statements) {
    for (let i = 0; i < 8; i++) rows.push(Number((await client.query(statement)).rows[0].count));
  }
  await client.end();
  return { rows };
}
