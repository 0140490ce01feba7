import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";
import { SqliteLogDatabase } from "../../../../../src/storage/sqlite/sqlite-log-database.js";

const AGE_MS = 600_000;

it.each([
  ["memory", 1201, async (now: () => number) => new MemoryLogDatabase({ now })],
  ["SQLite", 301, async (now: () => number) => SqliteLogDatabase.open(":memory:", { now })],
])(
  "frees a chain of deleted forks on %s, %d generations long, ten minutes after the first sweep",
  async (_, generations, open) => {
    let nowMs = 1_000_000;
    const database = await open(() => nowMs);
    const store = database.namespace("test");
    const provider = new LogHistoryProvider(store, { sweepAgeMs: AGE_MS });
    for (let i = 0; i < generations; i++) {
      if (i === 0) await provider.createSession({ sessionId: "g0" });
      else await provider.forkConversation(`g${i - 1}`, `g${i}`, { as: "fork" });
      await provider.logMessages(`g${i}`, [{ role: "user", parts: [] }]);
      if (i > 0) await provider.deleteSession(`g${i - 1}`);
    }
    await provider.deleteSession(`g${generations - 1}`);
    expect(await provider.sweep()).toMatchObject({ sessions: 0 });
    nowMs += AGE_MS + 1;
    expect(await provider.sweep()).toMatchObject({ sessions: generations });
    expect(await store.scanRecords("", 10)).toEqual([]);
    expect(await store.listOrphans(10)).toEqual([]);
    await provider.close();
    await database.close();
  },
);
