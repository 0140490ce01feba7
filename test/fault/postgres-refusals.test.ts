import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { PostgresPool } from "../../src/storage/postgres/postgres-pool.js";
import { created, entry, fill, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { schemaOf } from "../support/postgres-database.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const LIMIT_MS = 3000;
const APPLICATION = "application_name = 'session-pool'";

const server = await startOwnPostgresServer({ fast: true, settings: { max_connections: "24" } });
let url: URL;
let database: PostgresLogDatabase;
let store: LogStore;
/** Locks rows and changes settings. */
let admin: pg.Client;
let s: string;

beforeAll(async () => {
  if (!server) return;
  admin = new pg.Client(server.url);
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await server?.stop();
});
beforeEach(async () => {
  if (!server) return;
  url = new URL(freshSchemaUrl(server));
  url.searchParams.set("connections", "4");
  await open({});
});
afterEach(async () => {
  await database?.close();
  await admin?.query("ALTER ROLE session_pool RESET ALL");
});

async function open(parameters: Record<string, string>, timeoutMs = LIMIT_MS): Promise<void> {
  await database?.close();
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  database = await PostgresLogDatabase.connect(url.href, { timeoutMs });
  store = database.namespace("default");
  s = schemaOf(database);
}

async function lock(condition: string): Promise<void> {
  await admin.query("BEGIN");
  await admin.query(`SELECT 1 FROM ${s}.sessions WHERE ${condition} FOR UPDATE`);
}

async function untilWaiting(count: number): Promise<void> {
  const waiting = `SELECT pid FROM pg_stat_activity WHERE ${APPLICATION} AND wait_event_type = 'Lock'`;
  await poll(async () => (await query(server!.url, waiting)).length === count, `${count} statements wait for a lock`);
}

/** Gives the role a setting for the rest of the case, and the pool connections that have it. */
async function setForRole(setting: string): Promise<void> {
  await admin.query(`ALTER ROLE session_pool SET ${setting}`);
  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${APPLICATION}`);
  await store.timeMs();
}

describe.skipIf(!server)("a statement that PostgreSQL refuses", () => {
  it("is repeated after a deadlock", async () => {
    await open({}, 60_000);
    // A statement looks for a deadlock once. By then, the other client has to wait as well.
    await setForRole("deadlock_timeout = '4s'");
    await fill(store, "u.1", 1, 2);
    // The append locks the record and then the message, and the other client does so the other way round.
    await admin.query(`CREATE FUNCTION ${s}.wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN new; END'`);
    await admin.query(`CREATE TRIGGER wait BEFORE INSERT ON ${s}.messages FOR EACH ROW EXECUTE FUNCTION ${s}.wait()`);
    const rival = new pg.Client(server!.url);
    await rival.connect();
    // Whoever waits for the longest notices first, and is the one whose statement fails.
    await rival.query("SET deadlock_timeout = '1h'");
    await rival.query("BEGIN");
    await rival.query("SELECT pg_advisory_xact_lock(7)");
    const appended = store.append("u.1", 3, [entry("u.1", 3)]);
    await untilWaiting(1);
    await rival.query(`SELECT 1 FROM ${s}.sessions WHERE uid = 'u' FOR UPDATE`);
    expect(logged("deadlock detected")).toBe(1);
    await rival.query("COMMIT");
    await rival.end();
    expect(await appended).toBe(1);
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3]);
  });

  it("is repeated after a failure of serialization", async () => {
    await created(store, "u", { sessionId: "s" });
    await setForRole("default_transaction_isolation = 'repeatable read'");
    await lock("uid = 'u'");
    const raised = store.raiseForks("s");
    await untilWaiting(1);
    await admin.query(`UPDATE ${s}.sessions SET forks = forks + 1 WHERE uid = 'u'`);
    await admin.query("COMMIT");
    // At this level, PostgreSQL refuses an update of what has changed since the statement began.
    expect(await raised).toMatchObject({ forks: 2 });
    expect(await store.readRecord("s")).toMatchObject({ forks: 2 });
  });

  it.each([
    ["lock_timeout = 100", "A lock in PostgreSQL was not free in time"],
    ["statement_timeout = 2000", "PostgreSQL is not available"],
  ])("ends as `unavailable` because of the role's %s, and the connection goes on", async (setting, message) => {
    await fill(store, "u.1", 1, 2);
    await setForRole(setting);
    await lock("uid = 'u'");
    const appended = store.append("u.1", 3, [entry("u.1", 3)]);
    await expect(appended).rejects.toMatchObject({ code: "unavailable", message });
    await admin.query("COMMIT");
    expect(await store.append("u.1", 3, [entry("u.1", 3)])).toBe(1);
  });

  it("ends as `unavailable` when an operator cancels it, or as what it does when the connection is ended", async () => {
    await fill(store, "u.1", 1, 2);
    const waiting = `FROM pg_stat_activity WHERE ${APPLICATION} AND wait_event_type = 'Lock'`;
    await lock("uid = 'u'");
    const canceled = store.append("u.1", 3, [entry("u.1", 3)]);
    canceled.catch(() => {});
    await untilWaiting(1);
    await query(server!.url, `SELECT pg_cancel_backend(pid) ${waiting}`);
    await expect(canceled).rejects.toMatchObject({ code: "unavailable" });
    const repeated = store.append("u.1", 3, [entry("u.1", 3)]);
    await untilWaiting(1);
    const count = store.addFork("u", 1);
    count.catch(() => {});
    await query(server!.url, `SELECT pg_terminate_backend(pid) ${waiting}`);
    await untilWaiting(1);
    await admin.query("COMMIT");
    expect(await repeated).toBe(1);
    expect(await count).toBe(true);
  });

  it("is sent on a new connection when a prepared statement is gone or was planned for other columns", async () => {
    await open({ prepare: "true", connections: "1" });
    await created(store, "u", { sessionId: "s" });
    for (let i = 0; i < 8; i++) await store.readRecord("s");
    await admin.query(`ALTER TABLE ${s}.sessions ALTER COLUMN revision TYPE int`);
    expect(await store.readRecord("s")).toMatchObject({ uid: "u", revision: 0 });
    expect(await store.raiseForks("s")).toMatchObject({ forks: 1 });
    await admin.query(`ALTER TABLE ${s}.sessions ALTER COLUMN revision TYPE bigint`);
    // A count is not repeated after an unknown outcome, but the server has certainly not carried this out.
    expect(await store.raiseForks("s")).toMatchObject({ forks: 2 });
    expect(logged("cached plan must not change result type")).toBeGreaterThan(0);
  });
});

describe.skipIf(!server)("a prepared statement that is gone", () => {
  it("is prepared again on a new connection, also for a write that must not happen twice", async () => {
    await created(store, "u", { sessionId: "s" });
    const pool = new PostgresPool(server!.url, { connections: 1, prepare: true, timeoutMs: LIMIT_MS });
    const count = () => pool.writeOnce(`UPDATE ${s}.sessions SET forks = forks + 1 RETURNING forks`, [], undefined);
    expect(await count()).toEqual([[1]]);
    await pool.run("DEALLOCATE ALL", [], undefined, false);
    expect(await count()).toEqual([[2]]);
    expect(logged("prepared statement .* does not exist")).toBe(1);
    await pool.close();
  });
});

describe.skipIf(!server)("a server without a free connection", () => {
  it("is asked again until it has one, and the text says what is wrong when it has none in time", async () => {
    await created(store, "u", { sessionId: "s" });
    const others = await takeAll();
    const refused = { code: "unavailable", message: "PostgreSQL has no connection left" };
    await expect(store.readRecord("s")).rejects.toMatchObject(refused);
    await expect(store.addFork("u", 1)).rejects.toMatchObject(refused);
    await expect(PostgresLogDatabase.connect(url.href)).rejects.toMatchObject(refused);
    const [read, counted] = [store.readRecord("s"), store.addFork("u", 1)];
    await Promise.all(others.map((client) => client.end()));
    expect(await read).toMatchObject({ uid: "u" });
    expect(await counted).toBe(true);
  });
});

describe.skipIf(!server)("a server that takes no writes", () => {
  it("is not ready, and writes wait until it takes them again", async () => {
    await created(store, "u", { sessionId: "s" });
    await readOnly("on");
    const refused = { code: "unavailable", message: "PostgreSQL is a standby, or read-only" };
    await expect(store.ping()).rejects.toMatchObject(refused);
    await expect(store.addFork("u", 1)).rejects.toMatchObject(refused);
    await expect(PostgresLogDatabase.connect(url.href)).rejects.toMatchObject({ code: "unavailable" });
    expect(await store.readRecord("s")).toMatchObject({ forks: 0 });
    const counted = store.addFork("u", 1);
    await readOnly("off");
    expect(await counted).toBe(true);
    await store.ping();
  });
});

/** Takes all connections of the server, also those of the store. */
async function takeAll(): Promise<pg.Client[]> {
  const clients: pg.Client[] = [];
  for (;;) {
    const { rows } = await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${APPLICATION}`);
    const client = new pg.Client(server!.url);
    client.on("error", () => {});
    try {
      await client.connect();
      clients.push(client);
    } catch {
      if (rows.length === 0) return clients;
    }
  }
}

async function readOnly(value: "on" | "off"): Promise<void> {
  await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await admin.query("SELECT pg_reload_conf()");
  const shown = "SELECT current_setting('default_transaction_read_only') AS value";
  await poll(async () => (await query(server!.url, shown))[0]?.value === value, "the setting is in force");
}

function logged(text: string): number {
  return server!.process.log.split(new RegExp(text)).length - 1;
}
