import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { Child, run } from "../support/child.js";
import { poll } from "../support/poll.js";

const NAMESPACES = ["one", "two"];
/** The line of the log about the session that cannot be swept. */
const LOGGED = {
  level: 40,
  msg: expect.stringMatching(/^Session "refused" \(uid \w+\) could not be swept; the next sweep will try again$/),
  err: { message: expect.stringContaining("refused by a test") },
};

/** Makes asynchronous writes late, so that a log that is written asynchronously comes after everything else. */
const LATE_WRITES = `import fs from "node:fs";
const { write } = fs;
fs.write = (...args) => setTimeout(() => write(...args), 1000);`;

let folder: string;
let path: string;

/** A database in which a session of each namespace has expired and can be swept, and another one cannot. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-sweep-"));
  path = join(folder, "pool.db");
  const database = await SqliteLogDatabase.open(path);
  for (const namespace of NAMESPACES) {
    const provider = new LogHistoryProvider(database.namespace(namespace));
    for (const sessionId of ["refused", "swept"]) await provider.createSession({ sessionId, expireTimeMicros: 1 });
    await provider.close();
  }
  await database.close();
  inFile((file) =>
    file.exec(`
      CREATE TRIGGER refusing BEFORE UPDATE ON sessions WHEN old.session_id = 'refused' BEGIN
        SELECT RAISE(ABORT, 'refused by a test');
      END`),
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

it("sweeps the other sessions when some fail, names those on standard error, and fails", async () => {
  const { code, stdout, stderr } = await run(["sweep", "--storage", `sqlite:${path}`], {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(LATE_WRITES)}`,
  });
  expect(living()).toEqual(["refused", "refused"]);
  expect(stdout).toBe("Swept: 0 sessions, 0 ranges, 0 fork counts, 0 orphans\n");
  const lines = stderr.trim().split("\n");
  expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toMatchObject([LOGGED, LOGGED]);
  expect(lines.at(-1)).toBe("session-pool: 2 sessions could not be swept; the lines above say why");
  expect(code).toBe(1);
});

it("a server sweeps the other sessions, too, and logs each failure", async () => {
  const { child } = await Child.serve("--storage", `sqlite:${path}`, "--sweep-interval-s", "1");
  try {
    const failures = () => child.stderr.split("\n").filter((line) => line.includes("could not be swept"));
    await poll(() => failures().length >= NAMESPACES.length, "both namespaces are swept");
    expect(JSON.parse(failures()[0] as string)).toMatchObject(LOGGED);
    await poll(() => living().length === 2, "the other sessions are swept");
  } finally {
    child.kill("SIGKILL");
  }
});

/** The ids of the sessions that no sweep has deleted. */
function living(): readonly unknown[] {
  return inFile((file) => file.prepare("SELECT session_id FROM sessions WHERE deleted = 0").pluck().all([]));
}

function inFile<T>(work: (file: Database.Database) => T): T {
  const file = new Database(path);
  try {
    return work(file);
  } finally {
    file.close();
  }
}
