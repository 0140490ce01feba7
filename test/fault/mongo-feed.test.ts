import { type Collection, type Document, Long, MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FeedEvent } from "../../src/domain/feed.js";
import type { EngineOptions } from "../../src/storage/history/history-options.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { FeedTable } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { placeOf } from "../../src/storage/mongodb/record-feed.js";
import { type MongoProxy, startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

const AN_HOUR = 3_600_000;
const message = (id: string) => ({ id, role: "user", parts: [] });

const server = await startMongoServer();
afterAll(() => server?.stop());

/** What a reader is told, as `kind id`. */
class Reader {
  readonly told: string[] = [];
  at = "";
  readonly #stop = new AbortController();

  static async open(provider: LogHistoryProvider, from?: string): Promise<Reader> {
    const reader = new Reader();
    const events = await provider.watchSessions({}, from, { signal: reader.#stop.signal });
    const iterator = events[Symbol.asyncIterator]();
    reader.#note((await iterator.next()).value as FeedEvent);
    void reader.#readAll(iterator).catch(() => {});
    return reader;
  }

  async #readAll(iterator: AsyncIterator<FeedEvent>): Promise<void> {
    for (;;) this.#note((await iterator.next()).value as FeedEvent);
  }

  #note(event: FeedEvent): void {
    this.at = event.at;
    if (event.kind === "heartbeat") return;
    const { kind } = event;
    this.told.push(kind === "deleted" ? `${kind} ${event.sessionId}` : `${kind} ${event.session.sessionId}`);
  }

  close(): void {
    this.#stop.abort();
  }
}

describe.skipIf(!server)("the feed on MongoDB", () => {
  let url: string;
  let client: MongoClient;
  let sessions: Collection<Document & { _id: string }>;
  const open: { close(): unknown }[] = [];
  /** While this is set, commands to this collection get no answer and are not carried out. */
  let held: string | undefined;
  let proxy: MongoProxy;

  beforeEach(async () => {
    url = freshDatabaseUrl(server ?? { uri: "" });
    client = new MongoClient(url);
    sessions = client.db().collection("sessions");
    held = undefined;
    proxy = await startMongoProxy(Number(new URL(url).port), {
      refuse: (name, command) => (held !== undefined && command[name] === held ? new Promise(() => {}) : undefined),
    });
  });
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
    await proxy.close();
    await client.db().dropDatabase();
    await client.close();
  });

  /** A process of its own, as far as the database can tell. */
  async function process(options: EngineOptions = {}, throughProxy = false) {
    const { pathname } = new URL(url);
    const proxied = `mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true`;
    const database = await MongoLogDatabase.connect(throughProxy ? proxied : url);
    const store = database.namespace("default");
    const provider = new LogHistoryProvider(store, { heartbeatMs: 50, touchDelayMs: 50, ...options });
    open.push(database, { close: () => provider.close({ deadlineMs: Date.now() + 500 }) });
    return { provider, store, feed: store.feed as FeedTable };
  }

  async function reader(provider: LogHistoryProvider, from?: string): Promise<Reader> {
    const opened = await Reader.open(provider, from);
    open.push(opened);
    return opened;
  }

  const uidOf = async (sessionId: string) => (await sessions.findOne({ session_id: sessionId }))?._id as string;

  it("tells a change that becomes visible after others with later places", async () => {
    const [writing, reading] = [await process(), await process()];
    const { told } = await reader(reading.provider);
    await writing.provider.createSession({ sessionId: "a" });
    await expect.poll(() => told).toEqual(["created a"]);
    const { last } = await reading.feed.ends();
    const made = await sessions.findOne({ session_id: "a" });
    const late = Long.fromNumber(last - placeOf(30_000));
    await sessions.insertOne({ ...made, _id: "late", session_id: "late", place: late, made_place: late });
    await expect.poll(() => told).toEqual(["created a", "created late"]);
  });

  it("loses nothing when the clock was an hour ahead, and is set back", async () => {
    const [writing, reading] = [await process(), await process()];
    const { told } = await reader(reading.provider);
    await writing.provider.createSession({ sessionId: "a" });
    await expect.poll(() => told).toEqual(["created a"]);
    const ahead = placeOf(Date.now() + AN_HOUR);
    await sessions.updateOne({ session_id: "a" }, { $set: { place: Long.fromNumber(ahead) } });
    await expect.poll(() => told).toContain("changed a");
    // This process has not read the last place since.
    await writing.provider.createSession({ sessionId: "b" });
    await expect.poll(() => told).toContain("created b");
    const fresh = await process();
    await fresh.provider.createSession({ sessionId: "c" });
    expect(Number((await sessions.findOne({ session_id: "c" }))?.place)).toBeGreaterThan(ahead);
    await expect.poll(() => told).toContain("created c");
  });

  it("tells of appends whose process was killed before it wrote the update time", async () => {
    const [writing, reading] = [await process({ touchDelayMs: Number.POSITIVE_INFINITY }), await process()];
    Object.defineProperty(reading.feed, "slackMs", { value: 1500 });
    const { told } = await reader(reading.provider);
    await writing.provider.createSession({ sessionId: "s" });
    await expect.poll(() => told).toEqual(["created s"]);
    await writing.provider.logMessages("s", [message("m1")]);
    await expect.poll(() => told).toEqual(["created s", "changed s"]);
  });

  it("tells of a session whose process was killed right after deleting it, also when the record is gone", async () => {
    const [dying, living] = [await process({}, true), await process({ sweepAgeMs: 0 })];
    await dying.provider.createSession({ sessionId: "s", owner: "ada", labels: { k: "v" } });
    const uid = await uidOf("s");
    const { told, at } = await reader(living.provider);
    held = "departures";
    dying.provider.deleteSession("s").catch(() => {});
    await expect.poll(() => told).toEqual(["deleted s"]);
    await proxy.close();
    const past = { owner: living.feed.digest(uid, "ada"), labels: [living.feed.digest(uid, "k=v")] };
    const departed = async () => (await living.feed.read({ place: 0 }, 9)).changes;
    expect(await departed()).toMatchObject([{ kind: "deleted", uid, sessionId: "s", past }]);
    // Neither marking nor removing the record loses what it had to tell.
    for (let i = 0; i < 3; i++) await living.provider.sweep();
    expect(await sessions.countDocuments({ _id: uid })).toBe(0);
    expect(await departed()).toMatchObject([{ kind: "deleted", uid, sessionId: "s", past }]);
    const again = await reader(living.provider, at);
    await expect.poll(() => again.told).toEqual(["deleted s"]);
  });

  it.each(["findAndModify", "update"])("tells of a delete once when the answer to an %s is lost", async (name) => {
    const [writing, reading] = [await process({}, true), await process()];
    await writing.provider.createSession({ sessionId: "s" });
    const { told } = await reader(reading.provider);
    const lost = proxy.loseAnswerTo(name);
    await writing.provider.deleteSession("s");
    await lost;
    await expect.poll(() => told).toEqual(["deleted s"]);
    expect((await reading.feed.read({ place: 0 }, 9)).changes).toHaveLength(1);
    expect(await sessions.countDocuments({ departures: { $exists: true } })).toBe(0);
  });

  it("says that rows were removed before it removes them, also when answers are lost", async () => {
    for (const name of ["update", "delete"]) {
      const { provider, feed } = await process({}, true);
      await provider.createSession({ sessionId: name });
      await provider.deleteSession(name);
      const { last, nowMs } = await feed.ends();
      const lost = proxy.loseAnswerTo(name);
      expect(await feed.prune(nowMs + 1)).toBe(1);
      await lost;
      expect((await feed.ends()).first).toBe(last);
    }
    const { provider, feed } = await process({}, true);
    await provider.createSession({ sessionId: "s" });
    await provider.deleteSession("s");
    const { last, nowMs } = await feed.ends();
    held = "feeds";
    const deadline = { deadlineMs: Date.now() + 300 };
    await expect(feed.prune(nowMs + 1, deadline)).rejects.toMatchObject({ code: "deadline_exceeded" });
    held = undefined;
    expect((await feed.read({ place: 0 }, 9)).changes).toMatchObject([{ kind: "deleted", place: last }]);
  });

  it("refuses the tokens of another database", async () => {
    const { provider } = await process();
    const { at } = await reader(provider);
    url = freshDatabaseUrl(server ?? { uri: "" });
    const other = await process();
    await expect(other.provider.watchSessions({}, at)).rejects.toMatchObject({ code: "failed_precondition" });
  });

  it("tells each of several processes what all of them do", async () => {
    const processes = [await process(), await process(), await process()];
    const readers = await Promise.all(processes.map(({ provider }) => reader(provider)));
    const ids = ["a", "b", "c"];
    await Promise.all(processes.map(({ provider }, i) => provider.createSession({ sessionId: ids[i] as string })));
    await Promise.all(processes.map(({ provider }, i) => provider.logMessages(ids[i] as string, [message("m")])));
    await Promise.all(processes.map(({ provider }, i) => provider.deleteSession(ids[(i + 1) % 3] as string)));
    for (const { told } of readers) {
      const deleted = ids.map((id) => `deleted ${id}`);
      await expect.poll(() => told).toEqual(expect.arrayContaining(deleted));
    }
  });
});
