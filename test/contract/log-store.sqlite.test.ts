import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { openNoted, statementsDuring } from "../support/sqlite-statements.js";
import { describeLogStore } from "./log-store.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
let files = 0;

afterAll(() => rmSync(folder, { recursive: true }));

const newFile = () => join(folder, `${files++}.db`);
const open = (path: string, now: () => number) => openNoted(() => SqliteLogDatabase.open(path, { now }));

describeLogStore("a SQLite file", {
  atomicAppend: true,
  open: (now) => open(newFile(), now),
  openTogether: (count, now) => {
    const path = newFile();
    return Promise.all(Array.from({ length: count }, () => open(path, now)));
  },
  sentDuring: statementsDuring,
});

describeLogStore("SQLite in memory", { atomicAppend: true, open: (now) => open(":memory:", now) });
