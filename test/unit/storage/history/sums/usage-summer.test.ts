import { describe, expect, it, vi } from "vitest";
import type { UsageCursor, UsageRow } from "../../../../../src/domain/usage-groups.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { SessionRecord } from "../../../../../src/storage/history/log-store.js";
import type { SumLimits } from "../../../../../src/storage/history/sums/sum-limits.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const SMALL = { rows: 1, sessions: 1 };
/** With a time, sessions are listed in two passes, so that the sum takes several calls. */
const QUERY = { groupBy: [{ by: "session" }], sinceMicros: 0, limit: 10 } as const;

async function filled(limits: Partial<SumLimits>) {
  let nowMs = 1000;
  const store = new MemoryLogDatabase().namespace("default");
  const provider = new LogHistoryProvider(store, { usageSums: limits, clockMs: () => nowMs });
  for (const sessionId of ["a", "b", "c", "d"]) {
    await provider.createSession({ sessionId });
    await provider.logMessages(sessionId, [{ role: "user", parts: [], usage: { inputTokens: 1 } }]);
  }
  return {
    provider,
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

/** How many calls a sum takes from a cursor on. */
async function callsFrom(provider: LogHistoryProvider, from?: UsageCursor): Promise<number> {
  let cursor = from;
  for (let calls = 1; ; calls++) {
    const page = await provider.sumUsage({ ...QUERY, cursor });
    cursor = page.next;
    if (cursor !== undefined) continue;
    expect(page.rows.map(({ values }) => values[0])).toEqual(["a", "b", "c", "d"]);
    return calls;
  }
}

describe("sums that are not finished", () => {
  it("go on where they were, and begin anew once they were forgotten", async () => {
    const { provider, wait } = await filled({ ...SMALL, idleMs: 1000 });
    const all = await callsFrom(provider);
    expect(all).toBeGreaterThan(2);
    const { next } = await provider.sumUsage(QUERY);
    wait(900);
    const second = await provider.sumUsage({ ...QUERY, cursor: next });
    expect(second.next).toEqual(next);
    wait(900);
    expect(await callsFrom(provider, next)).toBe(all - 2);
    await provider.sumUsage(QUERY);
    const again = (await provider.sumUsage(QUERY)).next;
    wait(1001);
    expect(await callsFrom(provider, again)).toBe(all);
    await provider.close();
  });

  it("begin anew some time after their beginning, although they are asked for all the time", async () => {
    const { provider, wait } = await filled({ ...SMALL, idleMs: 1000, maxAgeMs: 2000 });
    const all = await callsFrom(provider);
    const { next } = await provider.sumUsage(QUERY);
    wait(900);
    await provider.sumUsage({ ...QUERY, cursor: next });
    wait(900);
    await provider.sumUsage({ ...QUERY, cursor: next });
    wait(200);
    expect(await callsFrom(provider, next)).toBe(all);
    await provider.close();
  });

  it("are refused when the process keeps as many as it may, but those that it keeps go on", async () => {
    const { provider, wait } = await filled({ ...SMALL, maxCount: 1, idleMs: 1000 });
    const { next } = await provider.sumUsage(QUERY);
    await expect(provider.sumUsage(QUERY)).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining("adding up too much usage at once"),
    });
    wait(500);
    await callsFrom(provider, next);
    expect((await provider.sumUsage(QUERY)).next).toBeDefined();
    wait(1001);
    await callsFrom(provider);
    await provider.close();
  });

  it("may take more than is kept, if there is no other", async () => {
    const { provider } = await filled({ ...SMALL, maxBytes: 10 });
    await callsFrom(provider);
    await provider.close();
  });

  it("do not read sessions again whose groups they have returned, when not all groups fit into memory", async () => {
    const store = new MemoryLogDatabase().namespace("default");
    const provider = new LogHistoryProvider(store, { usageSums: { tableBytes: 5000 } });
    const sessionIds = Array.from({ length: 40 }, (_, i) => `s${10 + i}`);
    for (const sessionId of sessionIds) {
      await provider.createSession({ sessionId });
      await provider.logMessages(sessionId, [{ role: "user", parts: [], usage: { inputTokens: 1 } }]);
    }
    const readUsage = vi.spyOn(store, "readUsage");
    const rounds = vi.spyOn(store, "scanRecords");
    const rows: (string | null | undefined)[] = [];
    let cursor: UsageCursor | undefined;
    do {
      const page = await provider.sumUsage({ groupBy: QUERY.groupBy, limit: 3, cursor });
      rows.push(...page.rows.map(({ values }) => values[0]));
      cursor = page.next;
    } while (cursor !== undefined);
    const { log } = (await store.readRecord("s10")) as SessionRecord;
    const reads = readUsage.mock.calls.filter(([ranges]) => ranges.some((range) => range.log === log));
    expect(rounds.mock.calls.length).toBeGreaterThan(3);
    expect(reads).toHaveLength(1);
    expect(rows).toEqual(sessionIds);
    await provider.close();
  });

  it("do not begin, and keep nobody waiting, when their call has ended", async () => {
    const { provider } = await filled({});
    const ended = provider.sumUsage({ ...QUERY, deadlineMs: Date.now() - 1 });
    await expect(ended).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await callsFrom(provider)).toBe(1);
    await provider.close();
  });
});

describe("sums that are finished", () => {
  it("are added up anew some time after their beginning, although they are asked for all the time", async () => {
    const { provider, wait } = await filled({ idleMs: 1000, maxAgeMs: 2000 });
    const { next } = await provider.sumUsage({ ...QUERY, limit: 1 });
    const second = async () => {
      const { rows } = await provider.sumUsage({ ...QUERY, limit: 1, cursor: next });
      return rows[0]?.inputTokens;
    };
    await provider.logMessages("b", [{ role: "user", parts: [], usage: { inputTokens: 1 } }]);
    wait(900);
    expect(await second()).toBe(1);
    wait(900);
    expect(await second()).toBe(1);
    wait(200);
    expect(await second()).toBe(2);
    await provider.close();
  });
});

it("does not go on with what a call has read before an erasure and adds after it", async () => {
  const store = new MemoryLogDatabase().namespace("default");
  const provider = new LogHistoryProvider(store, { usageSums: SMALL });
  for (const id of ["a", "b"]) {
    await provider.createSession({ sessionId: id });
    await provider.logMessages(id, [{ id, role: "user", parts: [], usage: { model: id, inputTokens: 1 } }]);
  }
  const readUsage = store.readUsage.bind(store);
  vi.spyOn(store, "readUsage").mockImplementationOnce(async (...args) => {
    const read = await readUsage(...args);
    await provider.eraseMessage("a", "a");
    await provider.eraseMessage("b", "b");
    return read;
  });
  const rows: UsageRow[] = [];
  let cursor: UsageCursor | undefined;
  do {
    const page = await provider.sumUsage({ groupBy: [{ by: "model" }], sinceMicros: 0, limit: 10, cursor });
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined);
  expect(rows.map(({ values, calls }) => [...values, calls])).toEqual([["", 2]]);
  await provider.close();
});

it("leaves out a session that was given away by the time it is read again because entries were missing", async () => {
  const store = new MemoryLogDatabase().namespace("default");
  const provider = new LogHistoryProvider(store);
  const call = { id: "", type: "tool_use", text: "", data: { id: "c", name: "bash", input: {} } };
  for (const sessionId of ["given", "kept"]) {
    await provider.createSession({ sessionId, owner: "ada" });
    await provider.logMessages(sessionId, [{ role: "assistant", parts: [call] }]);
  }
  const { log } = (await store.readRecord("given")) as SessionRecord;
  const readRange = store.readRange.bind(store);
  let isGiven = false;
  vi.spyOn(store, "readRange").mockImplementation(async (...args) => {
    if (args[0] !== log || isGiven) return readRange(...args);
    isGiven = true;
    await provider.updateSession("given", { owner: "bob" });
    return { ...(await readRange(...args)), entries: [] };
  });
  const { rows } = await provider.sumUsage({ groupBy: [{ by: "tool" }, { by: "session" }], owner: "ada", limit: 10 });
  expect(rows.map(({ values }) => values)).toEqual([["bash", "kept"]]);
  await provider.close();
});
