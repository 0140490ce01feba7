import { type Document, type MongoClientOptions, Timestamp } from "mongodb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { type MongoProxy, startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

/** Without heartbeats, a process learns the server's time only from the answers to its own calls. */
const NO_HEARTBEATS: MongoClientOptions = { serverMonitoringMode: "poll", heartbeatFrequencyMS: 600_000 };
const MINUTE_S = 60;

const server = await startMongoServer();
const message = (id: string) => ({ id, role: "user", parts: [] });

/** How many seconds the proxy adds to the server's time. */
let aheadS = 0;
let proxy: MongoProxy;

function later(time: Timestamp | undefined): Timestamp | undefined {
  return time && new Timestamp({ t: time.getHighBitsUnsigned() + aheadS, i: time.getLowBitsUnsigned() });
}

describe.skipIf(!server)("with the server's logical clock", () => {
  let slow: MongoLogDatabase;
  let busy: MongoLogDatabase;
  /** A provider on a machine that was suspended, so that its own clocks and timers stand still. */
  let suspended: LogHistoryProvider;
  let other: LogHistoryProvider;

  beforeAll(async () => {
    proxy = await startMongoProxy(Number(new URL(server?.uri ?? "").port), {
      ask: (_name, { $clusterTime: _clusterTime, ...command }) => [command],
      answer: (_name, { operationTime, $clusterTime, ...reply }): Document => ({
        ...reply,
        ...(operationTime && { operationTime: later(operationTime) }),
        ...($clusterTime && { $clusterTime: { ...$clusterTime, clusterTime: later($clusterTime.clusterTime) } }),
      }),
    });
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });

  beforeEach(async () => {
    aheadS = 0;
    const url = freshDatabaseUrl({ uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` });
    slow = await MongoLogDatabase.connect(url, { driver: NO_HEARTBEATS });
    busy = await MongoLogDatabase.connect(url, { driver: NO_HEARTBEATS });
    suspended = new LogHistoryProvider(slow.namespace("default"), { clockMs: () => 0, startTimer: () => () => {} });
    other = new LogHistoryProvider(busy.namespace("default"));
    await suspended.createSession({ sessionId: "s" });
    await suspended.logMessages("s", [message("m1"), message("m2")]);
    return async () => {
      await suspended.close();
      await other.close();
      await slow.close();
      await busy.close();
    };
  });

  async function ids(): Promise<readonly string[]> {
    return (await other.getSessionMessages("s")).map(({ id }) => id);
  }

  it("an append to a log that was swept in the meantime is not acknowledged, even if the process's own clocks stood still", async () => {
    await other.truncateMessages("s", "m1");
    await other.sweep();
    aheadS = 11 * MINUTE_S;
    expect(await other.sweep()).toMatchObject({ ranges: 1 });
    await expect(suspended.logMessages("s", [message("lost")])).rejects.toMatchObject({ code: "unavailable" });
    await suspended.logMessages("s", [message("kept")]);
    expect(await ids()).toEqual(["m1", "kept"]);
  });

  it("an append to a session that was deleted, swept and made again is not acknowledged either", async () => {
    await other.deleteSession("s");
    await other.sweep();
    aheadS = 11 * MINUTE_S;
    expect(await other.sweep()).toMatchObject({ sessions: 1 });
    await other.createSession({ sessionId: "s" });
    await expect(suspended.logMessages("s", [message("lost")])).rejects.toMatchObject({ code: "unavailable" });
    await suspended.logMessages("s", [message("kept")]);
    expect(await ids()).toEqual(["kept"]);
  });

  it("a sweep removes something only ten minutes after a sweep has first seen that nothing needs it", async () => {
    await other.truncateMessages("s", "m1");
    aheadS = 60 * MINUTE_S;
    expect(await other.sweep()).toMatchObject({ ranges: 0 });
    aheadS += 9 * MINUTE_S;
    expect(await other.sweep()).toMatchObject({ ranges: 0 });
    aheadS += MINUTE_S + 1;
    expect(await other.sweep()).toMatchObject({ ranges: 1 });
  });

  it("an append whose answer is more than a minute late is acknowledged if a check finds it in the history", async () => {
    aheadS = 2 * MINUTE_S;
    await suspended.logMessages("s", [message("m3")]);
    expect(await ids()).toEqual(["m1", "m2", "m3"]);
  });

  it("reading the clock for a sweep advances it, even if nobody else writes", async () => {
    const store = busy.namespace("default");
    const before = await store.timeMs();
    await expect.poll(() => store.timeMs()).toBeGreaterThan(before);
    expect(store.knownTimeMs?.()).toBeGreaterThanOrEqual(before);
  });
});
