import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { describeLogStore } from "./log-store.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
let files = 0;
let nowMs = 0;

afterAll(() => rmSync(folder, { recursive: true }));

for (const [name, path] of [
  ["a SQLite file", () => join(folder, `${files++}.db`)],
  ["SQLite in memory", () => ":memory:"],
] as const) {
  describeLogStore(name, {
    atomicAppend: true,
    open: () => {
      nowMs = Date.now();
      return SqliteLogDatabase.open(path(), { now: () => nowMs });
    },
    advance: (ms) => {
      nowMs += ms;
    },
  });
}
