import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

const SWEEP_AGE_MS = 600_000;
const message = (id: string, timestampMicros?: number) => ({ id, role: "user", parts: [], timestampMicros });

it.each([
  ["an older message", (p: LogHistoryProvider) => p.logMessages("a", [message("old", 5)])],
  ["a truncate", (p: LogHistoryProvider) => p.truncateMessages("a", "m1")],
  [
    "a delete and a create",
    async (p: LogHistoryProvider) => {
      await p.deleteSession("a");
      await p.createSession({ sessionId: "a" });
    },
  ],
])(
  "no append of a process whose head is from before %s is lost, however the machine's clock jumps",
  async (_what, change) => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    let jumpMs = 0;
    const now = () => Date.now() + jumpMs;
    const open = async () => {
      const database = await SqliteLogDatabase.open(join(folder, "my.db"), { now });
      const options = { nowMicros: () => now() * 1000, clockMs: () => 0, sweepAgeMs: SWEEP_AGE_MS };
      return { database, provider: new LogHistoryProvider(database.namespace("default"), options) };
    };
    const [first, second] = [await open(), await open()];
    await first.provider.createSession({ sessionId: "a" });
    await first.provider.logMessages("a", [message("m1"), message("m2")]);
    await change(second.provider);
    await second.provider.sweep();
    jumpMs = SWEEP_AGE_MS + 60_000;
    await second.provider.sweep();
    for (const id of ["x1", "x2"]) await first.provider.logMessages("a", [message(id)]);
    const ids = (await second.provider.getSessionMessages("a")).map(({ id }) => id);
    expect(ids.slice(-2)).toEqual(["x1", "x2"]);
    for (const { provider, database } of [first, second]) {
      await provider.close();
      await database.close();
    }
    rmSync(folder, { recursive: true });
  },
);
