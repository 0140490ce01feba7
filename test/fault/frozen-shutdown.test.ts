import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MongoStorageProvider } from "../../src/storage/mongodb/mongo-storage-provider.js";
import { PostgresStorageProvider } from "../../src/storage/postgres/postgres-storage-provider.js";
import { SqliteStorageProvider } from "../../src/storage/sqlite/sqlite-storage-provider.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";
import { Child } from "../support/child.js";
import { startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startOwnPostgresServer } from "../support/postgres-server.js";

/** Less than the 30 s or more that the drivers wait, and much more than the second or two that a shutdown takes. */
const IN_TIME_MS = 25_000;
const MESSAGE = { info: { role: "user" }, parts: [{ type: "text", text: "hello" }] };

/** A store that can be frozen, so that it answers nothing. */
interface Freezable {
  readonly url: string;
  /** Commands that wait for the frozen store. On SQLite the lock stops only those that write. */
  readonly commands: readonly string[];
  open(): Promise<StorageProvider>;
  freeze(): Promise<void> | void;
  thaw(): void;
}

const server = await startMongoServer();
const folder = mkdtempSync(join(tmpdir(), "session-pool-frozen-"));
const path = join(folder, "pool.db");
const lock = new Database(path);
const children: Child[] = [];

const SQLITE: Freezable = {
  url: `sqlite:${path}`,
  commands: ["todo add x", "todo clear"],
  open: () => SqliteStorageProvider.open(path),
  freeze: () => void lock.exec("BEGIN IMMEDIATE"),
  thaw: () => void (lock.inTransaction && lock.exec("ROLLBACK")),
};

const mongoUrl = server ? freshDatabaseUrl(server) : "";
const MONGODB: Freezable = {
  url: mongoUrl,
  commands: ["sweep", "export"],
  open: () => MongoStorageProvider.connect(mongoUrl),
  freeze: () => server?.process?.freeze(),
  thaw: () => server?.process?.thaw(),
};

const postgres = await startOwnPostgresServer({ fast: true });
const postgresUrl = postgres ? freshSchemaUrl(postgres) : "";
const POSTGRES: Freezable = {
  url: postgresUrl,
  commands: ["sweep", "export"],
  open: () => PostgresStorageProvider.open(postgresUrl),
  freeze: () => postgres?.process.freeze(),
  thaw: () => postgres?.process.thaw(),
};

beforeAll(async () => {
  const provider = await SQLITE.open();
  await provider.close();
});
afterEach(() => {
  SQLITE.thaw();
  MONGODB.thaw();
  POSTGRES.thaw();
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  lock.close();
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

describe.each([
  ["a SQLite file that another process has locked", true, SQLITE],
  ["a MongoDB that has stopped", Boolean(server?.process), MONGODB],
  ["a PostgreSQL that has stopped", Boolean(postgres), POSTGRES],
] as const)("on %s", (_name, canFreeze, store) => {
  describe.skipIf(!canFreeze)("that these tests can freeze", () => {
    it.each(["1", "2"])("serve with %s workers ends at most a second after --shutdown-s", async (workers) => {
      const { child, httpUrl } = await serve(store, workers);
      expect(await post(`${httpUrl}/session`, { sessionId: `s${workers}` })).toBe(200);
      expect(await post(`${httpUrl}/session/s${workers}/message`, MESSAGE)).toBe(200);
      const watching = await fetch(`${httpUrl}/session/s${workers}/message:watch`, {
        headers: { accept: "text/event-stream" },
      });
      expect(watching.status).toBe(200);
      await store.freeze();
      const cutOff = post(`${httpUrl}/session/s${workers}/message`, MESSAGE);
      await poll(() => isInFlight(httpUrl), "the call is in flight");
      child.kill("SIGTERM");
      const ended = await inTime(child.ended());
      expect(ended).toMatchObject({ code: 1, signal: null });
      expect(ended.stderr).toContain("Calls that were still running have been cut off");
      expect(await cutOff).not.toBe(200);
      await watching.body?.cancel().catch(() => {});
    });

    it.each(store.commands)("%s ends on SIGTERM", async (command) => {
      await store.freeze();
      const child = new Child([...command.split(" "), "--storage", store.url]);
      children.push(child);
      await once(child.process, "spawn");
      child.kill("SIGTERM");
      expect(await inTime(child.ended())).toMatchObject({ code: null, signal: "SIGTERM" });
    });

    it("a program that embeds the package can close it by a deadline", async () => {
      const provider = await store.open();
      await provider.createSession({ sessionId: "embedded" });
      await provider.logMessages("embedded", [{ id: "m", role: "user", parts: [] }]);
      const events = await provider.followMessages("embedded", 0);
      const ended = events[Symbol.asyncIterator]();
      expect(await ended.next()).toMatchObject({ value: { kind: "appended" } });
      await store.freeze();
      const cutOff = expect(ended.next()).rejects.toMatchObject({ code: "unavailable" });
      await inTime(provider.close({ deadlineMs: Date.now() + 500 }));
      await cutOff;
    });
  });
});

describe.skipIf(!server?.process)("on a MongoDB that no longer answers", () => {
  // What it ends with depends on whether a busy machine lets it close within a second of its deadline.
  it("serve logs what it could not write to the store", { retry: 2 }, async () => {
    let hasStopped = false;
    // The update time of a session is written a moment after its messages. By then the store no longer answers.
    const proxy = await startMongoProxy(server?.process?.port ?? 0, {
      refuse: (_name, command) => {
        if (hasStopped) return new Promise(() => {});
        hasStopped = command.insert === "messages";
        return undefined;
      },
    });
    const url = freshDatabaseUrl({ uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` });
    const { child, httpUrl } = await serve({ url }, "1");
    await post(`${httpUrl}/session`, { sessionId: "logged" });
    expect(await post(`${httpUrl}/session/logged/message`, MESSAGE)).toBe(200);
    child.kill("SIGTERM");
    const ended = await inTime(child.ended());
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.stderr).toContain("The update time of 1 session could not be written");
    await proxy.close();
  });
});

async function serve({ url }: Pick<Freezable, "url">, workers: string) {
  const served = await Child.serve("--storage", url, "--shutdown-s", "1", "--workers", workers);
  children.push(served.child);
  return served;
}

/** Rejects if the process takes longer to end than any wait for a store may take. */
async function inTime<T>(end: Promise<T>): Promise<T> {
  const timeout = AbortSignal.timeout(IN_TIME_MS);
  const late = once(timeout, "abort").then(() => {
    throw new Error(`It has not ended within ${IN_TIME_MS} ms`);
  });
  return Promise.race([end, late]);
}

/** Resolves to the status, or to undefined if the connection broke. */
async function post(url: string, body: object): Promise<number | undefined> {
  try {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return (await fetch(url, init)).status;
  } catch {
    return undefined;
  }
}

async function isInFlight(httpUrl: string): Promise<boolean> {
  return /session_pool_calls_in_flight [1-9]/.test(await (await fetch(`${httpUrl}/metrics`)).text());
}
