import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openStorage } from "../../src/storage/open-storage.js";
import { Child, run } from "../support/child.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, query, startPostgresServer } from "../support/postgres-server.js";

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

/** A store in which a session of each namespace has expired and can be swept, and another one cannot. */
interface Store {
  readonly url: string;
  /** Makes the database refuse every change of the session `refused`. */
  refuse(): Promise<unknown> | unknown;
  /** The ids of the sessions that no sweep has deleted. */
  living(): Promise<readonly unknown[]> | readonly unknown[];
}

const folder = mkdtempSync(join(tmpdir(), "session-pool-sweep-"));
const postgres = await startPostgresServer();
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

function onSqlite(): Store {
  const path = join(mkdtempSync(join(folder, "pool-")), "pool.db");
  const inFile = <T>(work: (file: Database.Database) => T): T => {
    const file = new Database(path);
    try {
      return work(file);
    } finally {
      file.close();
    }
  };
  return {
    url: `sqlite:${path}`,
    refuse: () =>
      inFile((file) =>
        file.exec(`
          CREATE TRIGGER refusing BEFORE UPDATE ON sessions WHEN old.session_id = 'refused' BEGIN
            SELECT RAISE(ABORT, 'refused by a test');
          END`),
      ),
    living: () =>
      inFile((file) => file.prepare("SELECT session_id FROM sessions WHERE deleted = 0").pluck().all([]) as unknown[]),
  };
}

function onPostgres(): Store {
  const url = freshSchemaUrl(postgres!);
  const s = new URL(url).searchParams.get("schema");
  return {
    url,
    refuse: () =>
      query(
        postgres!.url,
        `CREATE FUNCTION ${s}.refuse() RETURNS trigger LANGUAGE plpgsql AS
          $f$ BEGIN RAISE EXCEPTION 'refused by a test'; END $f$`,
        `CREATE TRIGGER refusing BEFORE UPDATE ON ${s}.sessions FOR EACH ROW
          WHEN (old.session_id = 'refused') EXECUTE FUNCTION ${s}.refuse()`,
      ),
    living: async () => {
      const rows = await query(postgres!.url, `SELECT session_id FROM ${s}.sessions WHERE NOT deleted`);
      return rows.map(({ session_id }) => session_id);
    },
  };
}

describe.each([
  ["SQLite", true, onSqlite],
  ["PostgreSQL", Boolean(postgres), onPostgres],
] as const)("on %s", (_name, isHere, make) => {
  describe.skipIf(!isHere)("with a session that cannot be swept", () => {
    let store: Store;

    beforeEach(async () => {
      store = make();
      const storage = await openStorage(store.url);
      for (const namespace of NAMESPACES) {
        const provider = storage.provider(namespace);
        for (const sessionId of ["refused", "swept"]) await provider.createSession({ sessionId, expireTimeMicros: 1 });
      }
      await storage.close();
      await store.refuse();
    });

    it("sweeps the other sessions, names the failed ones on standard error, and fails", async () => {
      const { code, stdout, stderr } = await run(["sweep", "--storage", store.url], {
        NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(LATE_WRITES)}`,
      });
      expect(await store.living()).toEqual(["refused", "refused"]);
      expect(stdout).toBe("Swept: 0 sessions, 0 ranges, 0 attachments, 0 fork counts, 0 orphans\n");
      const lines = stderr.trim().split("\n");
      expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toMatchObject([LOGGED, LOGGED]);
      expect(lines.at(-1)).toBe("session-pool: 2 sessions could not be swept; the lines above say why");
      expect(code).toBe(1);
    });

    it("a server sweeps the other sessions, too, and logs each failure", async () => {
      const { child } = await Child.serve("--storage", store.url, "--sweep-interval-s", "1");
      try {
        const failures = () => child.stderr.split("\n").filter((line) => line.includes("could not be swept"));
        await poll(() => failures().length >= NAMESPACES.length, "both namespaces are swept");
        expect(JSON.parse(failures()[0] as string)).toMatchObject(LOGGED);
        await poll(async () => (await store.living()).length === 2, "the other sessions are swept");
      } finally {
        child.kill("SIGKILL");
      }
    });
  });
});
