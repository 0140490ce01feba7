import { describe, expect, it } from "vitest";
import type { NewChatMessage } from "../../../../src/domain/chat-message.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { without } from "../../../contract/log-store/without.js";
import { recordedCalls } from "../../../support/recorded-calls.js";

const START_MICROS = 1_700_000_000_000_000;

function message(i: number): NewChatMessage {
  return { id: `m${i}`, role: "user", timestampMicros: START_MICROS + i, parts: [{ id: "", type: "text", text: "x" }] };
}

/**
 * Makes a session `s` with `count` messages. `callsOf` resolves to the names of the store calls of an operation, by a
 * provider that has read nothing before its first operation.
 */
async function sessionOf(count: number, change: (store: LogStore) => LogStore = (store) => store) {
  const database = new MemoryLogDatabase();
  const writer = new LogHistoryProvider(database.namespace("test"), { touchDelayMs: Number.POSITIVE_INFINITY });
  await writer.createSession({ sessionId: "s" });
  for (let i = 0; i < count; i += 1000) {
    const batch = Array.from({ length: Math.min(1000, count - i) }, (_, k) => message(i + k));
    await writer.logMessages("s", batch);
  }
  const { store, calls } = recordedCalls(change(database.namespace("test")));
  const provider = new LogHistoryProvider(store, { touchDelayMs: Number.POSITIVE_INFINITY });
  const callsOf = async (run: (provider: LogHistoryProvider) => Promise<unknown>) => {
    calls.length = 0;
    await run(provider);
    return [...calls];
  };
  return { callsOf };
}

describe("store calls of an operation (docs/history.md, Operations)", () => {
  it("are one for an append on a cached head, alone or as a batch", async () => {
    const { callsOf } = await sessionOf(10);
    await callsOf((provider) => provider.logMessage({ sessionId: "s", role: "user", parts: [] }));
    expect(await callsOf((provider) => provider.logMessage({ sessionId: "s", role: "user", parts: [] }))).toEqual([
      "append",
    ]);
    expect(
      await callsOf((provider) => provider.logMessage({ sessionId: "s", id: "own", role: "user", parts: [] })),
    ).toEqual(["append"]);
    const batch = Array.from({ length: 100 }, () => ({ role: "user", parts: [] }));
    expect(await callsOf((provider) => provider.logMessages("s", batch))).toEqual(["append"]);
  });

  it("are two for an append with a chosen id in a forked session", async () => {
    const { callsOf } = await sessionOf(10);
    await callsOf((provider) => provider.forkConversation("s", "f", { as: "fork" }));
    const own = { sessionId: "f", id: "own", role: "user", parts: [] };
    expect(await callsOf((provider) => provider.logMessage(own))).toEqual(["findById", "append"]);
  });

  it("are two for a list, a count and a single message", async () => {
    const { callsOf } = await sessionOf(10);
    expect(await callsOf((provider) => provider.listMessages("s", { limit: 5 }))).toHaveLength(2);
    expect(await callsOf((provider) => provider.getMessageCount("s"))).toHaveLength(2);
    expect(await callsOf((provider) => provider.getMessage("s", "m5"))).toHaveLength(2);
  });

  it("are one for the newest messages, also of a fork, and three where the store leaves readNewest out; a session needs one more", async () => {
    const list = (provider: LogHistoryProvider) => provider.listMessages("s", { limit: 5, newestFirst: true });
    const load = (provider: LogHistoryProvider) => provider.loadSession("s", { limit: 5 });
    const { callsOf } = await sessionOf(10);
    expect(await callsOf(list)).toEqual(["readNewest"]);
    expect(await callsOf(load)).toEqual(["readNewest", "readUsageEnds"]);
    await callsOf((provider) => provider.forkConversation("s", "f", { as: "fork" }));
    expect(await callsOf((provider) => provider.loadSession("f", { limit: 5 }))).toEqual([
      "readNewest",
      "readUsageEnds",
    ]);
    const { callsOf: plainCallsOf } = await sessionOf(10, (store) => without(store, "readNewest"));
    expect(await plainCallsOf(list)).toEqual(["readRecord", "tail", "readRange"]);
    expect(await plainCallsOf(load)).toEqual(["readRecord", "tail", "readRange", "readUsageEnds"]);
  });

  for (const [name, most, run] of [
    ["fork", 3, (provider) => provider.forkConversation("s", "f", { as: "fork" })],
    ["share", 3, (provider) => provider.forkConversation("s", "g", { as: "share" })],
    ["truncate", 5, (provider) => provider.truncateMessages("s", "m8")],
    ["revert", 5, (provider) => provider.truncateMessages("s", "m7", { keepForUnrevert: true })],
    ["unrevert", 4, (provider) => provider.restoreMessages("s")],
    ["older message", 13, (provider) => provider.logMessage({ ...message(3), id: "older", sessionId: "s" })],
    ["update of a message", 7, (provider) => provider.updateMessage("s", "m3", { role: "tool" })],
    ["delete of a message", 6, (provider) => provider.deleteMessage("s", "m3")],
    ["delete", 4, (provider) => provider.deleteSession("s")],
  ] satisfies [string, number, (provider: LogHistoryProvider) => Promise<unknown>][]) {
    it(`are at most ${most} for ${name}`, async () => {
      const { callsOf } = await sessionOf(10);
      if (name === "unrevert")
        await callsOf((provider) => provider.truncateMessages("s", "m5", { keepForUnrevert: true }));
      const calls = await callsOf(run);
      expect(calls.length).toBeLessThanOrEqual(most);
      expect(calls.length).toBeGreaterThan(1);
    });
  }
});

it("store calls are seven for every further update, of the same message or another", async () => {
  const { callsOf } = await sessionOf(10);
  const calls: number[] = [];
  for (const [id, role] of [
    ["m3", "a"],
    ["m3", "b"],
    ["m5", "a"],
    ["m3", "c"],
    ["m5", "b"],
  ] as const) {
    calls.push((await callsOf((provider) => provider.updateMessage("s", id, { role }))).length);
  }
  expect(calls).toEqual([7, 7, 7, 7, 7]);
});

it("operations on histories take as many store calls at 100,000 messages as at 10", async () => {
  const steps: ((provider: LogHistoryProvider) => Promise<unknown>)[] = [
    (provider) => provider.forkConversation("s", "f", { as: "fork" }),
    (provider) => provider.forkConversation("s", "g", { as: "share" }),
    (provider) => provider.truncateMessages("s", "m8", { keepForUnrevert: true }),
    (provider) => provider.restoreMessages("s"),
    (provider) => provider.truncateMessages("s", "m8"),
    (provider) => provider.updateMessage("s", "m3", { role: "tool" }),
    (provider) => provider.updateMessage("s", "m3", { role: "user" }),
    (provider) => provider.deleteMessage("s", "m3"),
    (provider) => provider.deleteMessage("s", "m8"),
    (provider) => provider.truncateMessages("s", "m5"),
    (provider) => provider.deleteSession("f"),
  ];
  const callsAt = async (count: number) => {
    const { callsOf } = await sessionOf(count);
    const calls: string[][] = [];
    for (const step of steps) calls.push(await callsOf(step));
    return calls;
  };
  expect(await callsAt(100_000)).toEqual(await callsAt(10));
});
