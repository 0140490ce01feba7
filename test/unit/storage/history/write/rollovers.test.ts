import { afterEach, beforeEach, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const NOW_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

let store: LogStore;

beforeEach(() => {
  store = new MemoryLogDatabase().namespace("test");
});
afterEach(() => store.close());

/**
 * How long an append waits on a sealed log, in milliseconds, when five rollovers in a row were recorded at `atMs`.
 * `wallMs`: the time by the process's own clock.
 */
async function waitAfterRow(atMs: number, wallMs = NOW_MS): Promise<number> {
  const steady = { ms: 0 };
  const provider = new LogHistoryProvider(store, {
    nowMicros: () => wallMs * 1000,
    clockMs: () => steady.ms,
    pause: async (ms) => {
      steady.ms += ms;
    },
  });
  await provider.createSession({ sessionId: "s" });
  const record = await store.readRecord("s");
  if (record === null) throw new Error("no session");
  const { forks: _forks, ...rest } = record;
  const next = { ...rest, revision: record.revision + 1, rollovers: { count: 5, atMs } };
  await store.replaceRecord(next, record.revision);
  await store.seal(record.log);
  await new LogHistoryProvider(store, {
    nowMicros: () => wallMs * 1000,
    clockMs: () => steady.ms,
    pause: async (ms) => {
      steady.ms += ms;
    },
  }).logMessages("s", [{ role: "user", parts: [] }]);
  return Math.round(steady.ms);
}

it.each([
  ["a moment ago", NOW_MS - 1000, 6400],
  ["by a clock that is a little ahead", NOW_MS + 1000, 6400],
  ["a minute ago", NOW_MS - 60_000, 6400],
  ["a day ago", NOW_MS - DAY_MS, 200],
  ["by a clock that is far ahead", NOW_MS + DAY_MS, 200],
])("an append after a row of rollovers that were recorded %s (%d) waits %d ms", async (_, atMs, waitMs) => {
  expect(await waitAfterRow(atMs)).toBe(waitMs);
});

it.each([-DAY_MS, DAY_MS])("goes by the store's clock, even if the process's own differs by %d ms", async (skewMs) => {
  store.knownTimeMs = () => NOW_MS;
  expect(await waitAfterRow(NOW_MS - 1000, NOW_MS + skewMs)).toBe(6400);
  expect((await store.readRecord("s"))?.rollovers).toEqual({ count: 6, atMs: NOW_MS });
});
