import { assert, asyncProperty, constantFrom, oneof, string, uniqueArray } from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entries, entry, fill, type Given, ODD_TEXTS, own, replaced } from "../contract/log-store/fixtures.js";
import { openPostgresDatabase } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";

const RUNS = 25;
/** What arrays, rows, text searches and statements of PostgreSQL write in a way of their own. */
const SYNTAX = [
  "",
  "NULL",
  "{}",
  "{NULL}",
  '"',
  '""',
  "\\",
  "\\\\",
  "\\N",
  "\\.",
  "(,)",
  "'",
  "''",
  "':*",
  "$1",
  "\uFFFF",
];
const BATCH = 100;
const QUOTES = 40_000;
const MOST_MICROS = Number.MAX_SAFE_INTEGER;

const server = await startPostgresServer({ fast: true });
let database: PostgresLogDatabase;
let store: LogStore;

beforeAll(async () => {
  if (!server) return;
  database = await openPostgresDatabase(server, { search: true });
  store = database.namespace("default");
});
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

describe.skipIf(!server)("values on PostgreSQL", () => {
  it("come back as they were, whatever their texts", async () => {
    const text = oneof(string({ unit: "binary", maxLength: 12 }), constantFrom(...SYNTAX, ...ODD_TEXTS));
    const texts = uniqueArray(text, { minLength: 2, maxLength: 6 });
    let run = 0;
    await assert(
      asyncProperty(texts, async (ids) => {
        const uid = `r${run++}`;
        const [first, second] = ids as [string, string];
        const logs = ids.map((id) => `${uid}.${id}`);
        const labels = Object.fromEntries(ids.map((id) => [id.replaceAll("=", ""), first]));
        const record = await created(store, uid, {
          sessionId: `${run} ${first}`,
          parentId: second,
          title: first,
          labels,
          namedLogs: logs.map((log) => ({ log, purpose: "copy" })),
        });
        expect(await store.readRecordByUid(uid)).toEqual(record);
        expect(record.labels).toEqual(labels);
        const having = Object.keys(labels).map((key) => `${key}=${first}`);
        expect(await store.listRecords({ parentId: second, labels: having }, { limit: 10 })).toContainEqual(record);
        const given = (id: string): Given => {
          const parts = [{ id, type: "text", text: first + second }] as const;
          return { id, role: second, sessionId: first, originSessionId: id, parts: [...parts] };
        };
        for (const log of logs) {
          const batch = entries(log, 1, ids.length, (seq) => ({ ...given(ids[seq - 1] as string), remaining: 0 }));
          expect(await store.append(log, 1, batch)).toBe(batch.length);
          expect((await store.readRange(log, 1, ids.length)).entries).toEqual(batch);
          expect(await store.append(log, ids.length + 1, batch)).toBe("idTaken");
          expect(await store.findById([log], [first])).toEqual(batch.slice(0, 1));
          await store.overwriteEntries(batch.toReversed());
          expect(await store.readLast([log])).toEqual(batch.slice(-1));
        }
        expect(await store.findOwned(uid, second)).toHaveLength(logs.length);
        expect(await store.deleteEntries({ uid }, 100)).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  it("come back as they were at the bounds of numbers", async () => {
    const times = [-MOST_MICROS, -1, 0, 1, MOST_MICROS];
    const at = (seq: number): Given => ({ timestampMicros: times[seq - 1] as number });
    const batch = await fill(store, "n.1", 1, times.length, (seq) => ({ ...at(seq), remaining: 0 }));
    expect((await store.readRange("n.1", 1, MOST_MICROS)).entries).toEqual(batch);
    expect((await store.readRange("n.1", times.length, times.length, { descending: true })).entries).toHaveLength(1);
    expect((await store.readRange("n.1", 1, times.length, { maxBytes: MOST_MICROS })).cut).toBe(false);
    expect((await store.readRange("n.1", 1, times.length, { maxBytes: 0 })).entries).toEqual(batch.slice(0, 1));
    for (const [i, micros] of times.entries()) {
      expect(await store.seqAtTime("n.1", 1, times.length, micros)).toBe(i + 1);
    }
    expect(await store.append("n.1", MOST_MICROS, [entry("n.1", MOST_MICROS)])).toBe(0);
    expect(await store.append("n.1", 1, [])).toBe(0);
    const found = await created(store, "x", { updateTimeMicros: -MOST_MICROS, labels: { bound: "" } });
    const latest = await replaced(store, found, { updateTimeMicros: MOST_MICROS - 1, expireTimeMicros: MOST_MICROS });
    const having = { parentId: "", labels: ["bound="] };
    expect(await store.listRecords(having, { limit: MOST_MICROS })).toEqual([latest]);
    expect(await store.listExpired({ expireTimeMicros: MOST_MICROS }, 10)).toEqual([latest]);
    expect(await store.listExpired({ expireTimeMicros: -MOST_MICROS, updateTimeMicros: -MOST_MICROS }, 10)).toEqual([]);
  });

  it("take about as long to send when all of it is quotes", async () => {
    const processorTime = async (log: string, character: string) => {
      const parts = [{ id: "", type: "text", text: character.repeat(QUOTES) }] as const;
      const batch = entries(log, 1, BATCH, () => ({ parts: [...parts] }));
      await own(store, log);
      const before = process.cpuUsage();
      expect(await store.append(log, 1, batch)).toBe(BATCH);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const plain = await processorTime("p.1", "a");
    expect(await processorTime("q.1", '"')).toBeLessThan(10 * plain);
  });

  it("are found by a word that the index cuts inside a character, sent alone or in a batch", async () => {
    const word = `${"a".repeat(63)}\u{10437}b`;
    const given: Given = { parts: [{ id: "", type: "text", text: word }], remaining: 0 };
    await own(store, "w.1");
    await store.append(
      "w.1",
      1,
      entries("w.1", 1, 1, () => given),
    );
    await store.append(
      "w.1",
      2,
      entries("w.1", 2, 3, () => given),
    );
    const found = await store.searchEntries?.(
      { terms: [{ text: word, words: [word], isPrefix: false }], scope: "text" },
      { limit: 10 },
    );
    expect(found?.entries.map(({ seq }) => seq)).toEqual([3, 2, 1]);
  });

  it("are none where nothing is asked for", async () => {
    await fill(store, "z.1", 1, 2);
    expect(await store.listRecords({ parentId: "" }, { limit: 0 })).toEqual([]);
    expect(await store.listSweepable(MOST_MICROS, 0)).toEqual([]);
    expect(await store.scanRecords("", 0)).toEqual([]);
    expect(await store.listOrphans(0)).toEqual([]);
    expect(await store.readLast([])).toEqual([]);
    expect(await store.findById([], [])).toEqual([]);
    expect(await store.findById(["z.1"], [])).toEqual([]);
    expect(await store.findCopies([], { id: "m1", originSessionId: "s", timestampMicros: 0 })).toEqual([]);
    expect((await store.readRange("z.1", 1, 2, { limit: 0 })).entries).toEqual([]);
    await store.overwriteEntries([]);
    expect((await store.readRange("z.1", 1, 2)).entries).toHaveLength(2);
  });
});
