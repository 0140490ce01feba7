import { beforeEach, describe, expect, it, vi } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import { kindOf } from "../../../../src/storage/history/drafts/draft-entry.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { settle, World } from "../../../simulation/world.js";

const MESSAGE = { role: "user", parts: [] };
const DAY_MS = 86_400_000;

describe("a session that expires", () => {
  let nowMs: number;
  let database: MemoryLogDatabase;
  let provider: LogHistoryProvider;
  const open = (retentionMs?: number) =>
    new LogHistoryProvider(database.namespace("default"), {
      ...{ nowMicros: () => nowMs * 1000, pollMs: { first: 1, most: 1 }, retentionMs },
    });

  beforeEach(() => {
    nowMs = 1_000_000;
    database = new MemoryLogDatabase({ now: () => nowMs });
    provider = open();
  });

  const make = async () => {
    await provider.createSession({ sessionId: "s", expireTimeMicros: (nowMs + 10) * 1000 });
    await provider.logMessages("s", [{ ...MESSAGE, id: "m1" }]);
  };

  it("exists until its time and not afterwards, even if its head is cached", async () => {
    await make();
    nowMs += 9;
    await provider.logMessages("s", [{ ...MESSAGE, id: "m2" }]);
    nowMs += 1;
    const late = provider.logMessages("s", [{ ...MESSAGE, id: "m3" }]);
    await expect(late).rejects.toMatchObject({ code: "not_found" });
    await expect(provider.getSession("s")).rejects.toMatchObject({ code: "not_found" });
    await expect(provider.getMessage("s", "m1")).rejects.toMatchObject({ code: "not_found" });
  });

  it("ends its followers even if nobody writes anything", async () => {
    await make();
    const events = (await provider.followMessages("s", undefined))[Symbol.asyncIterator]();
    const next = events.next();
    nowMs += 10;
    await expect(next).rejects.toMatchObject({ code: "not_found" });
  });

  it("is deleted by the next sweep, and its messages are removed by a later one", async () => {
    await make();
    await provider.sweep();
    expect(await provider.getSession("s")).toMatchObject({ messageCount: 1 });
    nowMs += 10;
    await provider.sweep();
    expect(database.dump().records).toMatchObject([{ deleted: true }]);
    nowMs += 600_000;
    await provider.sweep();
    expect(database.dump()).toMatchObject({ records: [] });
    expect([...database.dump().logs.values()].flatMap(({ entries }) => entries)).toEqual([]);
  });

  it("is kept for the retention time after its last change or append", async () => {
    const retaining = open(30 * DAY_MS);
    await retaining.createSession({ sessionId: "s" });
    for (let day = 0; day < 40; day += 20) {
      nowMs += 20 * DAY_MS;
      await retaining.logMessages("s", [{ ...MESSAGE, id: `day ${day}` }]);
      await retaining.sweep();
    }
    expect(await retaining.getSession("s")).toMatchObject({ messageCount: 2 });
    nowMs += 30 * DAY_MS - 1;
    await retaining.sweep();
    expect((await retaining.listSessions({ parentId: "", limit: 1 })).sessions).toHaveLength(1);
    nowMs += 1;
    expect((await retaining.listSessions({ parentId: "", limit: 1 })).sessions).toEqual([]);
    await retaining.sweep();
    expect(database.dump().records).toMatchObject([{ deleted: true }]);
  });

  it("ends a list when its retention is over, because all that follow were changed even earlier", async () => {
    const store = database.namespace("default");
    const retaining = new LogHistoryProvider(store, { nowMicros: () => nowMs * 1000, retentionMs: DAY_MS });
    for (const sessionId of ["a", "b", "c", "d", "e"]) await retaining.createSession({ sessionId });
    nowMs += DAY_MS;
    await retaining.createSession({ sessionId: "new" });
    const listRecords = vi.spyOn(store, "listRecords");
    const { sessions, next } = await retaining.listSessions({ parentId: "", limit: 1 });
    expect([sessions.map(({ sessionId }) => sessionId), next]).toEqual([["new"], undefined]);
    expect(listRecords).toHaveBeenCalledTimes(1);
  });

  it("expires by the store's clock if the store has one", async () => {
    let storeMs = nowMs;
    const store = Object.assign(database.namespace("default"), { knownTimeMs: () => storeMs });
    const other = new LogHistoryProvider(store, { nowMicros: () => nowMs * 1000 });
    await make();
    nowMs += 20;
    expect(await other.getSession("s")).toMatchObject({ messageCount: 1 });
    storeMs += 10;
    await expect(other.getSession("s")).rejects.toMatchObject({ code: "not_found" });
  });

  it("has its open drafts discarded by the sweep, so that nothing more can be written to their logs", async () => {
    await make();
    await provider.startDraft("s", { id: "d", ...MESSAGE });
    const { log = "" } = database.dump().records[0]?.drafts[0] ?? {};
    nowMs += 10;
    await provider.sweep();
    expect(
      database
        .dump()
        .logs.get(log)
        ?.entries.map(({ id }) => kindOf(id)),
    ).toEqual(["started", "discarded"]);
    expect(database.dump().records).toMatchObject([{ deleted: true, drafts: [] }]);
  });

  it("stays gone when a sweep is interrupted after it has discarded a draft, which is a write to the session", async () => {
    const store = database.namespace("default");
    const retaining = new LogHistoryProvider(store, { nowMicros: () => nowMs * 1000, retentionMs: DAY_MS });
    await retaining.createSession({ sessionId: "s" });
    await retaining.startDraft("s", { id: "d", ...MESSAGE });
    nowMs += DAY_MS;
    const append = store.append.bind(store);
    const replaceRecord = store.replaceRecord.bind(store);
    store.append = async (...args) => {
      store.replaceRecord = () => Promise.reject(new DomainError("unavailable", "The sweep has died"));
      return append(...args);
    };
    await expect(retaining.sweep()).rejects.toMatchObject({ code: "unavailable" });
    store.replaceRecord = replaceRecord;
    await expect(retaining.getSession("s")).rejects.toMatchObject({ code: "not_found" });
    await retaining.sweep();
    expect(database.dump().records).toMatchObject([{ deleted: true }]);
  });

  it("does not expire when an append comes after the sweep has read its record", async () => {
    const world = new World("atomic");
    const options = { nowMicros: () => world.nowMs * 1000, retentionMs: DAY_MS };
    const writer = world.process(options);
    await writer.createSession({ sessionId: "s" });
    await writer.startDraft("s", { id: "d", ...MESSAGE });
    await writer.say("s", "m1");
    writer.gates.close("append");
    const answer = writer.say("s", "m2");
    await settle();
    world.nowMs += DAY_MS;
    const sweeper = world.process(options);
    sweeper.gates.close("tail");
    const swept = sweeper.sweep();
    await settle();
    await writer.gates.open("append");
    expect(await answer).toBe("at 1");
    await sweeper.gates.open("tail");
    await swept;
    expect(await world.process(options).ids("s")).toBe("m1 m2");
    expect(await writer.say("s", "m3")).toBe("at 2");
    expect(await writer.listDrafts("s")).toHaveLength(1);
  });

  it("keeps its drafts when a process ends abandoned ones", async () => {
    const anomalies: string[] = [];
    const options = { nowMicros: () => nowMs * 1000, onAnomaly: (text: string) => anomalies.push(text) };
    const other = new LogHistoryProvider(database.namespace("default"), { ...options, draftTimeoutMs: 0 });
    await make();
    await provider.startDraft("s", { id: "d", ...MESSAGE });
    nowMs += 10;
    expect(await other.endAbandonedDrafts()).toBe(0);
    expect(anomalies).toEqual([]);
  });
});
