import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FollowEvent } from "../../../../../src/domain/page.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogDatabase, LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";
import { SqliteLogDatabase } from "../../../../../src/storage/sqlite/sqlite-log-database.js";

const message = (id: string, timestampMicros?: number) => ({ id, role: "user", parts: [], timestampMicros });

describe.each([
  ["memory", async () => new MemoryLogDatabase()],
  ["SQLite", () => SqliteLogDatabase.open(":memory:")],
] satisfies [string, () => Promise<LogDatabase>][])("a log on %s that has lost an entry in the middle", (_, open) => {
  let database: LogDatabase;
  let store: LogStore;
  let provider: LogHistoryProvider;
  let told: string[];

  const providerWith = (more: object = {}) =>
    new LogHistoryProvider(store, {
      random: () => 0,
      pollMs: { first: 100_000, most: 100_000 },
      onAnomaly: (text) => told.push(text),
      ...more,
    });

  /** Deletes the entry of the session's second message. */
  const damage = async (sessionId: string) => {
    const record = await store.readRecord(sessionId);
    await store.deleteEntries({ log: record?.log as string, first: 2, last: 2 }, 10);
  };

  beforeEach(async () => {
    database = await open();
    store = database.namespace("test");
    told = [];
    provider = providerWith();
    for (const sessionId of ["damaged", "whole"]) {
      await provider.createSession({ sessionId });
      for (const id of ["m1", "m2", "m3"]) await provider.logMessages(sessionId, [message(id, 10 * Number(id[1]))]);
    }
    await damage("damaged");
  });
  afterEach(async () => {
    await provider.close();
    await database.close();
  });

  it("ends a follower that reads it from the start with internal, and reports what is missing", async () => {
    const follow = async () => {
      for await (const _event of await provider.followMessages("damaged", 0));
    };
    await expect(follow()).rejects.toMatchObject({ code: "internal" });
    expect(told.join()).toMatch(/"damaged" is damaged: entry 2 of log .* is missing/);
  });

  it("ends a waiting follower with internal, and meanwhile timers run and other sessions are followed", async () => {
    const writer = providerWith();
    const appended = async (sessionId: string, onBegun: () => void) => {
      const ids: string[] = [];
      const events: AsyncIterable<FollowEvent> = await provider.followMessages(sessionId, undefined);
      onBegun();
      for await (const event of events) {
        if (event.kind === "appended") ids.push(event.message.id);
        if (ids.length === 2) break;
      }
      return ids;
    };
    await provider.createSession({ sessionId: "later damaged" });
    let ended: Promise<string[]> = Promise.resolve([]);
    await new Promise<void>((resolve) => {
      ended = appended("later damaged", resolve);
    });
    ended.catch(() => {});
    let others: Promise<string[]> = Promise.resolve([]);
    await new Promise<void>((resolve) => {
      others = appended("whole", resolve);
    });
    for (const id of ["m1", "m2", "m3"]) await writer.logMessages("later damaged", [message(id)]);
    await damage("later damaged");
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    await provider.updateSession("later damaged", { title: "wakes nobody" });
    await provider.logMessages("later damaged", [message("m4")]);
    await provider.logMessages("whole", [message("n1"), message("n2")]);
    await expect(ended).rejects.toMatchObject({ code: "internal" });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(10);
    expect(await others).toEqual(["n1", "n2"]);
    expect(told.join()).toMatch(
      /"later damaged" is damaged: entry 2 of log .* is missing \(uid .*, open after 4 messages\)/,
    );
    await writer.close();
  });

  it.each([
    ["a list", async () => provider.getSessionMessages("damaged")],
    ["an append of an older message", async () => provider.logMessages("damaged", [message("old", 15)])],
    ["a copy of its session", async () => provider.forkConversation("damaged", "whole", { as: "copy" })],
  ])("makes %s fail with internal, even without a deadline", async (_name, run) => {
    await expect(run()).rejects.toMatchObject({ code: "internal" });
    expect(told.join()).toMatch(/"(damaged|whole)" is damaged: (entry 2|entries 1 to 3) of log .* missing/);
  });

  it("does not affect other sessions", async () => {
    await expect(provider.getSessionMessages("damaged")).rejects.toMatchObject({ code: "internal" });
    await provider.logMessages("whole", [message("m4")]);
    expect(await provider.getMessageCount("whole")).toBe(4);
  });
});
