import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { created, entry, fill, T0 } from "../contract/log-store/fixtures.js";
import { startDocumentDb } from "../support/documentdb.js";
import { commandsOf } from "../support/mongo-commands.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();
const documentDb = server && (await startDocumentDb(server));

describe.skipIf(!server)("on DocumentDB", () => {
  let database: MongoLogDatabase;
  const notices: string[] = [];
  const anomalies: string[] = [];

  beforeAll(async () => {
    database = await openMongoDatabase(documentDb, {
      onNotice: (text) => notices.push(text),
      onAnomaly: (text) => anomalies.push(text),
    });
  });
  afterAll(async () => {
    await database?.close();
    await documentDb?.stop();
    await server?.stop();
  });

  it("logs once that there are no change streams, and lets followers poll as on a standalone server", async () => {
    expect(notices).toEqual(["The server has no change streams: watchers poll for what other processes write"]);
    expect(database.namespace("default").subscribe).toBeUndefined();
    const [own, other] = [0, 1].map(() => new LogHistoryProvider(database.namespace("followed"))) as [
      LogHistoryProvider,
      LogHistoryProvider,
    ];
    await own.createSession({ sessionId: "s" });
    const following = await own.followMessages("s", 0);
    const events = following[Symbol.asyncIterator]();
    const sent = await commandsOf(database.client, async () => {
      const told = events.next();
      await other.logMessages("s", [{ id: "m", role: "user", parts: [] }]);
      expect((await told).value).toMatchObject({ kind: expect.any(String) });
    });
    expect(sent.filter(({ name }) => name === "aggregate")).toEqual([]);
    await events.return?.();
    await own.close();
    await other.close();
    expect(anomalies).toEqual([]);
  });

  it("causes no deadlock between processes that touch the same sessions", async () => {
    const store = database.namespace("touched");
    const uids = Array.from({ length: 12 }, (_, i) => `u${String((i * 7) % 12).padStart(2, "0")}`);
    for (const uid of uids) await created(store, uid);
    const forwards = new Map(uids.map((uid) => [uid, T0 + 1]));
    const backwards = new Map([...forwards].reverse());
    await Promise.all(Array.from({ length: 20 }, (_, i) => store.touchRecords?.(i % 2 ? forwards : backwards)));
    expect(documentDb?.deadlocks()).toBe(0);
    const times = (await store.scanRecords("", 99)).map(({ updateTimeMicros }) => updateTimeMicros);
    expect(times).toEqual(uids.map(() => T0 + 1));
  });

  it("repeats a single write that conflicted with another one, and applies it once", async () => {
    const store = database.namespace("conflicts");
    await created(store, "u");
    // With so many writes, some are certain to conflict with another one.
    for (let i = 0; i < 20; i++) expect(await store.addFork("u", 1)).toBe(true);
    for (let i = 0; i < 20; i++) expect(await store.raiseForks("session of u")).toMatchObject({ forks: 21 + i });
  });

  it("distinguishes a taken id from a taken place", async () => {
    const store = database.namespace("default");
    await fill(store, "taken.1", 1, 3);
    expect(await store.append("taken.1", 4, [entry("taken.1", 4, { id: "m2" })])).toBe("idTaken");
    expect(await store.append("taken.1", 3, [entry("taken.1", 3, { id: "other" })])).toBe(0);
  });

  it("sends no write that the driver would repeat", async () => {
    const store = database.namespace("single");
    const sent = await commandsOf(database.client, async () => {
      await created(store, "once");
      await fill(store, "once.1", 1, 3);
    });
    expect(sent.map(({ command }) => command)).toEqual(
      sent.map(() => expect.not.objectContaining({ txnNumber: expect.anything() })),
    );
  });
});
