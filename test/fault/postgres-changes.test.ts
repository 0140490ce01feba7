import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresChanges } from "../../src/storage/postgres/postgres-changes.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { PostgresPool } from "../../src/storage/postgres/postgres-pool.js";
import { created, entry, fill, ODD_TEXTS, record as recordOf, replaced } from "../contract/log-store/fixtures.js";
import { startAddress } from "../support/moving-address.js";
import { freshDatabaseUrl, freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const LISTENERS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'session-pool listener'";
/** Less than the time between two looks of a watcher whom nobody wakes. */
const LONG_MS = 4000;

const server = await startOwnPostgresServer({ fast: true });
afterAll(() => server?.stop());

let url: string;
let opened: PostgresLogDatabase[];
let anomalies: string[];
let notices: string[];

beforeEach(() => {
  if (server) url = freshSchemaUrl(server);
  opened = [];
  anomalies = [];
  notices = [];
});
afterEach(async () => {
  for (const database of opened) await database.close();
});

async function open(at = url): Promise<LogStore> {
  const database = await PostgresLogDatabase.connect(at, {
    onAnomaly: (text) => anomalies.push(text),
    onNotice: (text) => notices.push(text),
  });
  opened.push(database);
  // The server does not wait for its disk, which is told on connecting.
  anomalies.length = 0;
  return database.namespace("default");
}

function withParameter(at: string, name: string, value: string): string {
  const changed = new URL(at);
  changed.searchParams.set(name, value);
  return changed.href;
}

/** What a store is told, from now on. */
async function listen(store: LogStore): Promise<string[]> {
  const told: string[] = [];
  await store.subscribe?.((uid) => told.push(uid));
  return told;
}

/** Two database handles act like two processes. */
describe.skipIf(!server)("two processes on PostgreSQL", () => {
  let own: LogStore;
  let other: LogStore;
  let told: string[];

  beforeEach(async () => {
    own = await open();
    other = await open();
    told = await listen(own);
  });

  /** Resolves when everything that the other process has written by now has been heard. */
  async function heard(): Promise<void> {
    const uid = `mark ${told.length} ${Math.random()}`;
    await created(other, uid);
    await expect.poll(() => told).toContain(uid);
  }

  it("hear what the other appends, seals, creates, replaces and publishes", async () => {
    const record = await created(other, "made");
    await expect.poll(() => told).toEqual(["made"]);
    await replaced(other, record, { title: "changed" });
    await expect.poll(() => told).toEqual(["made", "made"]);
    await other.append("made.1", 1, [entry("made.1", 1), entry("made.1", 2)]);
    await expect.poll(() => told).toEqual(["made", "made", "made"]);
    await other.seal("made.1", 2);
    await expect.poll(() => told).toEqual(["made", "made", "made", "made"]);
    const hidden = recordOf("hidden");
    await other.createRecord({ ...hidden, deleted: true, restoring: true });
    await expect.poll(() => told).toContain("hidden");
    told.length = 0;
    expect(await other.publishRecord(hidden)).toBe("published");
    await expect.poll(() => told).toEqual(["hidden"]);
  });

  it("hear nothing of what they write themselves, nor of forks", async () => {
    const record = await created(own, "own");
    await fill(own, "own.1", 1, 3);
    await replaced(own, (await own.readRecordByUid("own")) ?? record, { title: "changed" });
    await other.addFork("own", 1);
    await heard();
    expect(told).toHaveLength(1);
  });

  it("tell every listener until it ends", async () => {
    const more: string[] = [];
    const endMore = await own.subscribe?.((uid) => more.push(uid));
    await created(other, "a");
    await expect.poll(() => [told, more]).toEqual([["a"], ["a"]]);
    await endMore?.();
    await created(other, "b");
    await expect.poll(() => told).toEqual(["a", "b"]);
    expect(more).toEqual(["a"]);
  });

  it("wake watchers, who would otherwise wait for ever", async () => {
    let waits = 0;
    const provider = new LogHistoryProvider(own, {
      pause: async (ms, signal) => {
        if (ms < LONG_MS || !signal) return sleep(ms);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        waits++;
      },
    });
    const writer = new LogHistoryProvider(other);
    await writer.createSession({ sessionId: "s" });
    const events = (await provider.followMessages("s", 0))[Symbol.asyncIterator]();
    for (let i = 0; i < 20; i++) {
      await writer.logMessages("s", [{ id: `m${i}`, role: "user", parts: [] }]);
      expect((await events.next()).value).toMatchObject({ kind: "appended", message: { id: `m${i}` } });
    }
    expect(waits).toBeGreaterThan(20);
    await provider.close();
    await writer.close();
  });

  it.each(
    [
      ...["", " ", "x", "%", "x %", "x %zz", "x %E0%A4%A", "x a%", "x \u0001\n\u{1F600}", "x  ", "x constructor"],
      ...["a ", "%41", "%", "\u{1F600}"].map((text) => `x ${text.repeat(7900 / Buffer.byteLength(text))}`),
    ].map((payload) => ({ begin: payload.slice(0, 15), payload })),
  )("are not disturbed by what others send on the channel: $begin", async ({ payload }) => {
    const channel = new URL(url).searchParams.get("schema");
    const client = new pg.Client(server?.url);
    await client.connect();
    await client.query("SELECT pg_notify($1, $2)", [channel, payload]);
    await client.end();
    await heard();
    expect(anomalies).toEqual([]);
  });

  it("listen again after the server has ended that connection, and say so once", async () => {
    const before = await query(url, LISTENERS);
    expect(before).toHaveLength(2);
    await query(url, `SELECT pg_terminate_backend(pid) FROM (${LISTENERS}) AS l`);
    await expect.poll(() => query(url, LISTENERS)).toHaveLength(2);
    await heard();
    expect(anomalies).toEqual([expect.stringContaining("poll"), expect.stringContaining("poll")]);
  });

  it("go on after the server was killed and started again", async () => {
    await created(other, "before");
    await expect.poll(() => told).toEqual(["before"]);
    await server?.process.killAndRestart();
    await expect.poll(() => query(url, LISTENERS)).toHaveLength(2);
    await heard();
  });

  it("miss nothing while the connections for listening are ended again and again", async () => {
    const providers = [new LogHistoryProvider(own), new LogHistoryProvider(other)] as const;
    const [reader, writer] = providers;
    await writer.createSession({ sessionId: "s" });
    const ids = Array.from({ length: 60 }, (_, i) => `m${i}`);
    const read = (async () => {
      const seen: string[] = [];
      for await (const event of await reader.followMessages("s", 0)) {
        if (event.kind === "appended") seen.push(event.message.id);
        if (seen.length === ids.length) return seen;
      }
      return seen;
    })();
    for (const [i, id] of ids.entries()) {
      if (i % 7 === 0) await query(url, `SELECT pg_terminate_backend(pid) FROM (${LISTENERS}) AS l`);
      await writer.logMessages("s", [{ id, role: "user", parts: [] }]);
    }
    expect(await read).toEqual(ids);
    for (const provider of providers) await provider.close();
  });

  it("stop in the middle of listening again", async () => {
    await server?.process.kill();
    await expect.poll(() => anomalies.length).toBeGreaterThanOrEqual(2);
    for (const database of opened.splice(0)) await database.close();
    await server?.process.start();
  });
});

describe.skipIf(!server)("notifications on PostgreSQL", () => {
  it("are not heard in another schema of the database", async () => {
    const [own, other, elsewhere] = [await open(), await open(), await open(freshSchemaUrl(server!))];
    const told = await listen(own);
    await created(elsewhere, "elsewhere");
    await created(other, "here");
    await expect.poll(() => told).toContain("here");
    const toldElsewhere = await listen(elsewhere);
    await created(own, "later");
    expect([told, toldElsewhere]).toEqual([["here"], []]);
  });

  it.each([`A "b" c`, "'; --", "x".repeat(63), "\u00DF".repeat(31), "%41"])(
    "are heard in the schema %j",
    async (schema) => {
      const at = withParameter(await freshDatabaseUrl(server!), "schema", schema);
      const told = await listen(await open(at));
      await created(await open(at), "made");
      await expect.poll(() => told).toEqual(["made"]);
    },
  );

  it("are sent, and not heard, with listen=off", async () => {
    const deaf = await open(withParameter(url, "listen", "off"));
    expect(deaf.subscribe).toBeUndefined();
    expect(notices).toEqual([expect.stringContaining("watchers poll")]);
    const told = await listen(await open());
    await created(deaf, "made");
    await expect.poll(() => told).toEqual(["made"]);
    expect(await query(url, LISTENERS)).toHaveLength(1);
  });

  it("have a transaction of their own, so writes are stored where notifications are refused", async () => {
    const database = await freshDatabaseUrl(server!);
    const role = `r${Math.random().toString(36).slice(2)}`;
    await query(
      database,
      `CREATE ROLE ${role} LOGIN`,
      `GRANT ALL ON DATABASE ${new URL(database).pathname.slice(1)} TO ${role}`,
    );
    const at = new URL(database);
    at.username = role;
    const store = await open(at.href);
    const told = await listen(await open(at.href));
    await query(database, "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
    await created(store, "refused");
    expect(await store.append("refused.1", 1, [entry("refused.1", 1)])).toBe(1);
    await expect.poll(() => anomalies).toEqual([expect.stringContaining("Telling other processes")]);
    await query(database, "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC");
    await created(store, "granted");
    // On a busy machine, the append before is told of only now.
    await expect.poll(() => told.at(-1)).toBe("granted");
    await opened.pop()?.close();
    await opened.pop()?.close();
    await query(database, `DROP OWNED BY ${role}`, `DROP ROLE ${role}`);
  });
});

/** Below the store: what two processes send and hear when connections fail in ways that a server does not cause. */
describe.skipIf(!server)("PostgresChanges", () => {
  const channel = "changes";
  let pool: PostgresPool;
  let changes: PostgresChanges[];

  beforeEach(() => {
    pool = new PostgresPool(server?.url ?? "", { connections: 4, prepare: false, timeoutMs: 10_000 });
    changes = [];
  });
  afterEach(async () => {
    for (const one of changes) await one.close();
    await pool.close();
  });

  function changesAt(listenUrl: string, checkMs?: number): PostgresChanges {
    const onFailure = (text: string) => anomalies.push(text);
    const one = new PostgresChanges(pool, { channel, listenUrl, onFailure, ...(checkMs && { checkMs }) });
    changes.push(one);
    return one;
  }

  it("send thousands of uids in few notifications, none longer than the server takes", async () => {
    const uids = [
      ...Array.from({ length: 5000 }, (_, i) => `${i}`.padStart(24, "u")),
      ...ODD_TEXTS,
      "\u{1F600}".repeat(250),
    ];
    const payloads: string[] = [];
    const client = new pg.Client(server?.url);
    await client.connect();
    client.on("notification", ({ payload = "" }) => payloads.push(payload));
    await client.query(`LISTEN ${channel}`);
    const [sending, hearing] = [changesAt(server!.url), changesAt(server!.url)];
    await hearing.start();
    const told: string[] = [];
    await hearing.subscribe((uid) => told.push(uid));
    for (const uid of uids) sending.tell(uid);
    await expect.poll(() => told.length).toBe(uids.length);
    await client.query("SELECT 1");
    await client.end();
    expect(told).toEqual(uids);
    const lengths = payloads.filter((payload) => payload.includes(" ")).map((payload) => Buffer.byteLength(payload));
    expect(Math.max(...lengths)).toBeLessThan(8000);
    expect(lengths.length).toBeLessThan(20);
  });

  it("listen on another connection when nothing more comes on one that stays open", async () => {
    const address = await startAddress(server!.process.port);
    const listenUrl = new URL(server!.url);
    listenUrl.port = String(address.port);
    const hearing = changesAt(listenUrl.href, 50);
    expect(await hearing.start()).toBe(true);
    const told: string[] = [];
    await hearing.subscribe((uid) => told.push(uid));
    address.silence();
    await expect.poll(() => anomalies).toEqual([expect.stringContaining("do not arrive")]);
    const sending = changesAt(server!.url);
    await expect
      .poll(() => {
        sending.tell("made");
        return told;
      })
      .toContain("made");
    await address.close();
  });

  it("give up a server that takes connections and never answers LISTEN", async () => {
    const mute = createServer((socket) => {
      // AuthenticationOk and ReadyForQuery.
      socket.once("data", () => socket.write(Buffer.from("5200000008000000005a0000000549", "hex")));
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const { port } = mute.address() as AddressInfo;
    expect(await changesAt(`postgres://u@127.0.0.1:${port}/d`).start()).toBe(false);
    expect(anomalies).toEqual([expect.stringContaining("Listening")]);
    mute.close();
  });
});
