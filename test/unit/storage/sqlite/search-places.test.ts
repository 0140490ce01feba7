import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import Database from "libsql";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseSearch, type SearchCursor } from "../../../../src/domain/search.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

const T = 1_700_000_000_000_000;
/** How many messages of one microsecond have places of their own. */
const CROWD = 1024;
/** The last microsecond of each span in which a place is looked for, and the one after it. */
const EDGES = [0, 1, 999, 1000, 999_999, 1_000_000, 3_599_999_999, 3_600_000_000];
/** The times at both ends of what an index can keep apart; what is earlier or later shares a place with them. */
const BOUNDS = [-Number.MAX_SAFE_INTEGER, -9007199253000000, 9007199253000000, Number.MAX_SAFE_INTEGER];

/** No timestamp may be far ahead of the clock. */
const OPTIONS = { search: true, nowMicros: () => Number.MAX_SAFE_INTEGER };

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-places-"));
  path = join(folder, "pool.db");
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Stores `count` messages with one timestamp in a session of their own; returns their ids. */
async function crowd(provider: LogHistoryProvider, sessionId: string, micros: number, count: number) {
  await provider.createSession({ sessionId });
  const ids = Array.from({ length: count }, (_, i) => `${sessionId} ${i}`);
  for (let i = 0; i < count; i += 1000) {
    const parts = [{ id: "", type: "text", text: "word" }];
    const messages = ids.slice(i, i + 1000).map((id) => ({ id, role: "user", timestampMicros: micros, parts }));
    await provider.logMessages(sessionId, messages);
  }
  return ids;
}

/** The ids of all messages that a search finds, page by page. */
async function found(provider: LogHistoryProvider): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: SearchCursor | undefined; ; ) {
    const page = await provider.searchMessages({ terms: parseSearch("word"), limit: 700, cursor });
    ids.push(...page.hits.map(({ messageId }) => messageId));
    if (page.next === undefined) return ids;
    cursor = page.next;
  }
}

it("an index refuses no message, however crowded a moment is, and a search finds each of them once", async () => {
  const times = fc.oneof(fc.constantFrom(...EDGES.map((micros) => T + micros)), fc.constantFrom(...BOUNDS));
  const crowds = fc.array(fc.tuple(times, fc.constantFrom(1, CROWD, CROWD + 1), fc.boolean()), { maxLength: 6 });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(crowds, async (given) => {
      const database = await SqliteLogDatabase.open(join(folder, `${runs++}.db`), { search: true });
      const providers = ["a", "b"].map((name) => new LogHistoryProvider(database.namespace(name), OPTIONS));
      const stored: string[][] = [[], []];
      for (const [i, [micros, count, isSecond]] of given.entries()) {
        const n = Number(isSecond);
        stored[n]?.push(...(await crowd(providers[n] as LogHistoryProvider, `s${i}`, micros, count)));
      }
      await database.searchBuilt();
      for (const [n, provider] of providers.entries()) {
        expect((await found(provider)).sort()).toEqual(stored[n]?.sort());
        // An erasure gives the message another place.
        const [last] = stored[n]?.slice(-1) ?? [];
        if (last) await provider.eraseMessage(last.split(" ")[0] as string, last);
      }
      await database.close();
    }),
    {
      numRuns: 5,
      examples: [
        [
          EDGES.flatMap((micros): [number, number, boolean][] => [
            [T + micros, CROWD, micros % 2 === 1],
            [T, 1, false],
          ]),
        ],
        [BOUNDS.map((micros): [number, number, boolean] => [micros, CROWD + 1, false])],
      ],
    },
  );
}, 120_000);

it("messages of an uncrowded moment are found newest first, however crowded others are", async () => {
  const database = await SqliteLogDatabase.open(path, { search: true });
  const provider = new LogHistoryProvider(database.namespace("default"), { search: true });
  await crowd(provider, "crowd", T, 2 * CROWD);
  for (const [id, micros] of [
    ["second", T + 2],
    ["first", T - 1],
    ["third", T + 3],
  ] as const)
    await crowd(provider, id, micros, 1);
  await database.searchBuilt();
  const ids = await found(provider);
  expect(ids.filter((id) => !id.startsWith("crowd"))).toEqual(["third 0", "second 0", "first 0"]);
  expect(ids.at(-1)).toBe("first 0");
  await database.close();
});

it("a file with triggers that could refuse a message gets others, even when it is opened without an index", async () => {
  await (await SqliteLogDatabase.open(path, { search: true })).close();
  const db = new Database(path);
  db.exec("DROP TRIGGER search_inserted");
  db.exec("CREATE TRIGGER search_inserted AFTER INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no place'); END");
  const waiting = await SqliteLogDatabase.open(path);
  const provider = new LogHistoryProvider(waiting.namespace("default"), { search: true });
  expect(await crowd(provider, "s", T, CROWD + 1)).toHaveLength(CROWD + 1);
  db.close();
  await waiting.close();
});
