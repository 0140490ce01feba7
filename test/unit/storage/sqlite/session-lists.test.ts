import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SessionCursor } from "../../../../src/domain/page.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

const START_MS = Date.UTC(2026, 0, 1);

describe("lists of sessions that two processes append to", () => {
  let folder: string;
  let databases: SqliteLogDatabase[];
  let one: LogHistoryProvider;
  let two: LogHistoryProvider;
  let nowMs: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    nowMs = START_MS;
    const open = () => SqliteLogDatabase.open(join(folder, "my.db"), { now: () => nowMs });
    databases = [await open(), await open()];
    // No timer writes update times here, so a list shows only what the appends have written themselves.
    const options = { nowMicros: () => nowMs * 1000, touchDelayMs: Number.POSITIVE_INFINITY };
    [one, two] = databases.map((database) => new LogHistoryProvider(database.namespace("default"), options)) as [
      LogHistoryProvider,
      LogHistoryProvider,
    ];
  });
  afterEach(async () => {
    for (const database of databases) await database.close();
    rmSync(folder, { recursive: true });
  });

  const make = async (...ids: string[]) => {
    for (const sessionId of ids) {
      nowMs += 2000;
      await one.createSession({ sessionId });
    }
  };
  const append = async (process: LogHistoryProvider, sessionId: string, id: string) => {
    await process.logMessages(sessionId, [{ id, role: "user", parts: [] }]);
  };
  const page = async (limit: number, cursor?: SessionCursor) => {
    const { sessions, next } = await two.listSessions({ parentId: "", limit, cursor });
    return { ids: sessions.map(({ sessionId }) => sessionId), next };
  };

  it("show at once what another process appended, even if that process writes nothing more", async () => {
    await make("x", "y");
    nowMs += 1001;
    await append(one, "x", "m1");
    expect((await page(9)).ids).toEqual(["x", "y"]);
    const { sessions } = await two.listSessions({ parentId: "", limit: 1 });
    expect(sessions[0]?.updateTimeMicros).toBe(nowMs * 1000);
    expect((await two.getSession("x")).updateTimeMicros).toBe(nowMs * 1000);
  });

  it("do not skip a session that was appended to just before the list began", async () => {
    await make("x", "a", "b", "c", "d");
    await append(one, "x", "m1");
    nowMs += 100;
    const first = await page(3);
    nowMs += 1300;
    const rest = await page(3, first.next);
    expect([...first.ids, ...rest.ids].sort()).toEqual(["a", "b", "c", "d", "x"]);
  });

  it("neither skip nor repeat sessions that do not change between two pages", async () => {
    await make("a", "b", "c", "d", "e", "f", "g", "h");
    const seen: string[] = [];
    let cursor: SessionCursor | undefined;
    for (let round = 0; round === 0 || cursor; round++) {
      const { ids, next } = await page(2, cursor);
      seen.push(...ids);
      cursor = next;
      nowMs += 2000;
      // Both appends move a session to the front: one that was listed already, and one that was not.
      await append(one, "h", `h${round}`);
      await append(two, "a", `a${round}`);
    }
    expect(seen.filter((id) => id !== "a")).toEqual(["h", "g", "f", "e", "d", "c", "b"]);
  });
});
