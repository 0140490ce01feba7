import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import type { FollowEvent, FollowPosition } from "../../../../../src/domain/page.js";
import type { EngineOptions } from "../../../../../src/storage/history/history-options.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogDatabase, LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";
import { settle } from "../../../../simulation/world.js";

let database: LogDatabase;
let store: LogStore;
let provider: LogHistoryProvider;
let anomalies: string[];
let stop: AbortController;

/** A pause that lasts until it is aborted, so that no follower finds anything by polling. */
const untilWoken = (_ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve());
  });

function providerOn(on: LogStore, more: EngineOptions = {}): LogHistoryProvider {
  return new LogHistoryProvider(on, {
    pause: untilWoken,
    clockMs: () => 0,
    onAnomaly: (text) => anomalies.push(text),
    ...more,
  });
}

beforeEach(async () => {
  database = new MemoryLogDatabase();
  store = database.namespace("test");
  anomalies = [];
  stop = new AbortController();
  provider = providerOn(store);
  await provider.createSession({ sessionId: "s" });
});
afterEach(async () => {
  stop.abort();
  await provider.close();
  await database.close();
});

async function say(by: LogHistoryProvider, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await by.logMessages("s", [{ id, role: "user", parts: [] }]);
}

async function follow(from?: number | FollowPosition, by = provider): Promise<AsyncIterator<FollowEvent>> {
  return (await by.followMessages("s", from, { signal: stop.signal }))[Symbol.asyncIterator]();
}

async function idOf(next: Promise<IteratorResult<FollowEvent>>): Promise<string> {
  const { value } = await next;
  return value.kind === "appended" ? value.message.id : value.kind;
}

/** Reads the next `count` events. Resolves to the ids of the messages, or the kinds of other events. */
async function ids(events: AsyncIterator<FollowEvent>, count: number): Promise<string> {
  const read: string[] = [];
  for (let i = 0; i < count; i++) read.push(await idOf(events.next()));
  return read.join(" ");
}

const named = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`);

describe("a follower", () => {
  it("gets at once what its own process appends, like each other follower of the session", async () => {
    const both = [await follow(), await follow()];
    const nexts = both.map((events) => idOf(events.next()));
    await settle();
    await say(provider, "m1");
    expect(await Promise.all(nexts)).toEqual(["m1", "m1"]);
    expect(anomalies).toEqual([]);
  });

  it.each([
    ["left", 1, (events) => events.return?.()],
    ["left before it has read anything", 0, (events) => events.return?.()],
    ["read nothing before its call ended", 0, () => stop.abort()],
    ["not read on before its call ended", 1, () => stop.abort()],
  ] as readonly [string, number, (events: AsyncIterator<FollowEvent>) => unknown][])(
    "that has %s causes no more reads of the session",
    async (_how, readFirst, end) => {
      await say(provider, "m1");
      const events = await follow(0);
      await ids(events, readFirst);
      await end(events);
      await settle();
      let reads = 0;
      const readRecord = store.readRecord.bind(store);
      store.readRecord = (...args) => {
        reads++;
        return readRecord(...args);
      };
      await say(provider, "m2");
      await settle();
      expect(reads).toBe(0);
    },
  );

  it("whose call has ended gets the error of the call with its next read", async () => {
    await say(provider, "m1");
    const events = await follow(0);
    expect(await ids(events, 1)).toBe("m1");
    stop.abort();
    await expect(events.next()).rejects.toMatchObject({ code: "canceled" });
    expect(await events.next()).toMatchObject({ done: true });
  });

  it("follows a session that was made again, although an earlier follower has not noticed it yet", async () => {
    Object.assign(store, { subscribe: undefined });
    const early = await follow();
    const other = providerOn(database.namespace("test"));
    await other.deleteSession("s");
    await other.createSession({ sessionId: "s" });
    await say(other, "x");
    expect(await ids(await follow(0), 1)).toBe("x");
    await expect(early.next()).rejects.toMatchObject({ code: "not_found" });
    await other.deleteSession("s");
    await expect(follow()).rejects.toMatchObject({ code: "not_found" });
    await other.close();
  });

  it("gets at once what its own process adds to a draft", async () => {
    await provider.startDraft("s", { id: "d", role: "assistant", parts: [] });
    const events = await follow();
    expect(await idOf(events.next())).toBe("draft");
    const next = idOf(events.next());
    await settle();
    await provider.extendDraft("s", "d", 1, [{ kind: "append_text", partId: "", text: "a" }]);
    expect(await next).toBe("draft_extended");
  });

  it("that is far behind catches up by itself, and is not ended because of what is appended meanwhile", async () => {
    provider = providerOn(store, { maxFollowerBacklog: 4, chunk: 2 });
    await say(provider, ...named(1, 7));
    const events = await follow(0);
    expect(await ids(events, 1)).toBe("m1");
    await say(provider, ...named(8, 13));
    expect(await ids(events, 12)).toBe(named(2, 13).join(" "));
    const next = idOf(events.next());
    await settle();
    await say(provider, "m14");
    expect(await next).toBe("m14");
  });

  it("may leave while it is still catching up", async () => {
    provider = providerOn(store, { maxFollowerBacklog: 2 });
    await say(provider, ...named(1, 5));
    const events = await follow(0);
    expect(await ids(events, 1)).toBe("m1");
    stop.abort();
    expect(await events.return?.()).toMatchObject({ done: true });
  });

  it("ends at once when its call does", async () => {
    const next = (await follow()).next();
    await settle();
    stop.abort();
    await expect(next).rejects.toMatchObject({ code: "canceled" });
  });

  it("gets its place in each heartbeat", async () => {
    let beat = () => {};
    const pause: EngineOptions["pause"] = async (ms, signal) => {
      const beats = new Promise<void>((resolve) => {
        if (ms === 77) beat = resolve;
      });
      await Promise.race([beats, untilWoken(ms, signal)]);
    };
    provider = providerOn(store, { heartbeatMs: 77, pause });
    const events = await follow();
    const next = events.next();
    await settle();
    await say(provider, "m1");
    await next;
    const heartbeat = events.next();
    await settle();
    beat();
    expect((await heartbeat).value).toMatchObject({ kind: "heartbeat", at: { position: 1 } });
  });

  it("gets, with an update that happened before it resumed, the place after that update", async () => {
    await say(provider, "m1", "m2");
    const first = await follow(1);
    const { at } = (await first.next()).value as FollowEvent;
    await provider.updateMessage("s", "m1", { parts: [{ id: "", type: "text", text: "new" }] });
    const revision = (await store.readRecord("s"))?.revision;
    const resumed = await follow(at);
    expect((await resumed.next()).value).toMatchObject({
      kind: "updated",
      at: { sessionUid: at.sessionUid, revision, position: 2 },
    });
  });

  it("gets the error of the store while it catches up, and may follow again", async () => {
    await say(provider, "m1");
    const readRange = store.readRange.bind(store);
    const events = await follow(0);
    store.readRange = () => Promise.reject(new DomainError("resource_exhausted", "The disk is full"));
    await expect(events.next()).rejects.toMatchObject({ code: "resource_exhausted" });
    store.readRange = readRange;
    expect(await ids(await follow(0), 1)).toBe("m1");
  });

  it("is told to resume when the history has changed and what it was reading is gone", async () => {
    await say(provider, "m1");
    const events = await follow(0);
    store.readRange = async () => {
      await provider.updateSession("s", { title: "new" });
      return { entries: [], cut: false };
    };
    await expect(events.next()).rejects.toMatchObject({ code: "unavailable" });
    expect(anomalies).toEqual([]);
  });

  it("catches up in chunks", async () => {
    provider = providerOn(store, { maxFollowerBacklog: 2, chunk: 2 });
    await say(provider, ...named(1, 7));
    const readRange = store.readRange.bind(store);
    const sizes: number[] = [];
    const events = await follow(0);
    store.readRange = async (...args) => {
      const range = await readRange(...args);
      sizes.push(range.entries.length);
      return range;
    };
    expect(await ids(events, 7)).toBe(named(1, 7).join(" "));
    expect(sizes).toEqual([2, 2, 2, 1]);
  });

  it("of a recreated session continues when a follower of the old session leaves", async () => {
    await say(provider, "m0");
    const old = await follow(0);
    expect(await ids(old, 1)).toBe("m0");
    await provider.deleteSession("s");
    await settle();
    await provider.createSession({ sessionId: "s" });
    const waiting = await follow();
    const next = idOf(waiting.next());
    await old.return?.();
    await settle();
    await say(provider, "m1");
    expect(await next).toBe("m1");
  });

  it.each([-1, 1])("cannot start at %i in an empty session", async (from) => {
    await expect(follow(from)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `from_position is ${from}; the session has 0 messages`,
    });
  });
});

describe("a provider that closes", () => {
  it("ends its followers with unavailable, and accepts no new ones", async () => {
    const next = (await follow()).next();
    await settle();
    await provider.close();
    const stopping = { code: "unavailable", message: "The service is stopping" };
    await expect(next).rejects.toMatchObject(stopping);
    await expect(follow()).rejects.toMatchObject(stopping);
  });

  it("waits until the store has ended its subscription", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    store.subscribe = async () => () => ended;
    await follow();
    let isClosed = false;
    const closed = provider.close({ deadlineMs: Date.now() + 1_000_000 }).then(() => {
      isClosed = true;
    });
    await settle();
    expect(isClosed).toBe(false);
    end();
    await closed;
  });
});

describe("a store that reports changes", () => {
  it("is subscribed to once, and wakes the followers of the session that has changed", async () => {
    const told: ((uid: string) => void)[] = [];
    store.subscribe = async (onChange) => {
      told.push(onChange);
      return async () => {};
    };
    const sleeps: number[] = [];
    const pause: EngineOptions["pause"] = (ms, signal) => {
      sleeps.push(ms);
      return untilWoken(ms, signal);
    };
    provider = providerOn(store, { pause, heartbeatMs: 77 });
    const nexts = [await follow(), await follow()].map((events) => idOf(events.next()));
    await settle();
    const other = providerOn(store);
    await say(other, "m1");
    const record = await store.readRecord("s");
    for (const tell of told) tell(record?.uid ?? "");
    expect(await Promise.all(nexts)).toEqual(["m1", "m1"]);
    expect(told).toHaveLength(1);
    expect(new Set(sleeps.filter((ms) => ms !== 77))).toEqual(new Set([5000]));
    await other.close();
  });

  it("but cannot be subscribed to leaves its followers to poll, and the failure is reported", async () => {
    store.subscribe = () => Promise.reject(new Error("no change streams"));
    let poll = () => {};
    const pause: EngineOptions["pause"] = async (ms, signal) => {
      const polls = new Promise<void>((resolve) => {
        if (ms === 3) poll = resolve;
      });
      await Promise.race([polls, untilWoken(ms, signal)]);
    };
    provider = providerOn(store, { pollMs: { first: 3, most: 3 }, pause });
    const next = idOf((await follow()).next());
    await settle();
    expect(anomalies).toEqual(["The store cannot tell of changes; followers poll"]);
    const other = providerOn(store);
    await say(other, "m1");
    poll();
    expect(await next).toBe("m1");
    await other.close();
  });
});
