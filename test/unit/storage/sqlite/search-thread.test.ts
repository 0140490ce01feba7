import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DatabaseFiles } from "../../../../src/storage/sqlite/database-files.js";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { SearchThread } from "../../../../src/storage/sqlite/search-thread.js";

/** Counts up to its parameter, which decides how long the query takes. */
const COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) SELECT max(i) FROM n";

let folder: string;
let path: string;
let thread: SearchThread;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-search-thread-"));
  path = join(folder, "pool.db");
  (await openFile(path)).close();
  thread = new SearchThread(path, COUNT);
});

afterEach(async () => {
  await thread.close();
  rmSync(folder, { recursive: true });
});

it("does not block the event loop while a query runs", async () => {
  let turns = 0;
  let isRunning = true;
  const rows = thread.all([100_000], undefined).finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    await setImmediate();
    turns += 1;
  }
  expect(await rows).toEqual([[100_000]]);
  expect(turns).toBeGreaterThan(1);
});

it("runs one query after another, and skips those whose callers have gone", async () => {
  const gone = new AbortController();
  const answers = [
    thread.all([100_000], undefined),
    thread.all([100_000_000_000], { signal: gone.signal }),
    thread.all([3], undefined),
  ];
  gone.abort();
  await expect(answers[1]).rejects.toMatchObject({ code: "canceled" });
  expect(await Promise.all([answers[0], answers[2]])).toEqual([[[100_000]], [[3]]]);
});

it("answers queries after one that failed", async () => {
  await expect(thread.all([], undefined)).rejects.toMatchObject({ code: "internal" });
  expect(await thread.all([2], undefined)).toEqual([[2]]);
});

it("refuses queries once it is closed", async () => {
  expect(await thread.all([1], undefined)).toEqual([[1]]);
  await thread.close();
  await expect(thread.all([1], undefined)).rejects.toMatchObject({ code: "unavailable" });
});

it("does not open another file that has taken the place of the database", async () => {
  const files = new DatabaseFiles(path);
  rmSync(path);
  writeFileSync(path, "");
  const late = new SearchThread(path, COUNT, files);
  await expect(late.all([1], undefined)).rejects.toMatchObject({ code: "unavailable" });
});
