import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { parseSearch } from "../../src/domain/search.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { documentedProgram } from "../clients/documented.js";
import { Child } from "../support/child.js";
import { freePort } from "../support/free-port.js";
import { PageCommands } from "../support/page-commands.js";
import { poll } from "../support/poll.js";
import { installedPostgres } from "../support/postgres-binaries.js";
import { giveTo, serverUser } from "../support/postgres-folder.js";
import { type OwnPostgresServer, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { startPostgresProcess } from "../support/postgres-server-process.js";
import { callRest, storeAnswers } from "../support/store-answers.js";
import { describeWith, NotHere, needPrograms } from "../support/toolchain.js";

const PAGE = "docs/operations/postgres-server.md";

async function findServer(): Promise<{ readonly programs: string; readonly server: OwnPostgresServer }> {
  needPrograms("psql", "createdb", "pg_dump", "pg_restore", "pg_basebackup");
  const programs = await installedPostgres();
  const server = programs === null ? null : await startOwnPostgresServer();
  if (programs === null || server === null) throw new NotHere("no PostgreSQL is installed");
  return { programs, server };
}

await describeWith("the page on the PostgreSQL server", findServer, ({ programs, server }) => {
  const { host, port, username } = new URL(server.url);
  const urlOf = (database: string) => Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
  let folder: string;
  let page: PageCommands;

  beforeAll(async () => {
    await query(server.url, "CREATE ROLE app LOGIN", "CREATE DATABASE session_pool");
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-postgres-server-page-"));
    page = await PageCommands.in(folder, PAGE, [
      ["--host db1 --username postgres", `--host 127.0.0.1 --port ${port} --username ${username}`],
      ["host=db1", `host=127.0.0.1 port=${port}`],
      ["/var/lib/postgresql/15/main", `${folder}/standby`],
    ]);
  });
  afterEach(() => rm(folder, { recursive: true }));
  afterAll(() => server.stop());

  it("makes a schema with partitions, which the role can use and search", async () => {
    await page.run("Grow");
    await query(urlOf("session_pool"), documentedProgram("sql", "PARTITION OF"));
    const database = await PostgresLogDatabase.connect(`postgres://app@${host}/session_pool`, { search: true });
    const provider = new LogHistoryProvider(database.namespace("default"), { search: true });
    for (let i = 0; i < 40; i++) {
      const { sessionId } = await provider.createSession({ sessionId: `s${i}` });
      await provider.logMessages(sessionId, [
        { id: "m", role: "user", parts: [{ id: "", type: "text", text: "azalea" }] },
      ]);
    }
    const { hits } = await provider.searchMessages({ terms: parseSearch("azalea"), limit: 100 });
    expect(hits.length).toBe(40);
    expect((await database.figures()).bytes).toBeGreaterThan(40 * 8192);
    await provider.close();
    await database.close();
    const rows = await query(urlOf("session_pool"), "SELECT DISTINCT tableoid FROM session_pool.messages");
    expect(rows.length).toBeGreaterThan(8);
  });

  it("shows dead rows, and what is running", async () => {
    const [dead = "", often = ""] = statementsOf(documentedProgram("sql", "n_dead_tup"));
    expect(await query(urlOf("session_pool"), dead)).toContainEqual(expect.objectContaining({ relname: "sessions" }));
    await query(urlOf("session_pool"), often);
    const { child } = await Child.serve("--storage", `postgres://app@${host}/session_pool`);
    const activity = documentedProgram("sql", "pg_stat_activity").replace("AND state <> 'idle'", "");
    const names = (await query(server.url, activity)).map(({ application_name }) => application_name);
    expect(new Set(names)).toEqual(new Set(["session-pool", "session-pool listener"]));
    child.kill("SIGTERM");
    await child.ended();
  });

  it("restores a dump, on which a server answers as before", async () => {
    const storage = `postgres://app@${host}/session_pool`;
    const before = await answersOf(storage);
    await page.run("Back up and restore");
    await page.run("Back up and restore", 1);
    expect(await answersOf(storage.replace(/session_pool$/, "restored"))).toEqual(before);
  });

  it("makes a synchronous standby", async () => {
    await query(server.url, ...statementsOf(documentedProgram("sql", "CREATE ROLE replicator")));
    await page.run("A standby that loses nothing");
    const copy = join(folder, "standby");
    const standbyPort = await freePort();
    await appendFile(join(copy, "postgresql.conf"), `port = ${standbyPort}\n`);
    const user = await serverUser();
    await giveTo(user, folder);
    const standby = await startPostgresProcess(join(programs, "postgres"), copy, standbyPort, user);
    const [listen = "", reload = "", look = ""] = statementsOf(documentedProgram("sql", "synchronous_standby_names"));
    await query(server.url, listen, reload);
    const expected = { application_name: "standby1", state: "streaming", sync_state: "quorum" };
    await poll(async () => {
      const [row] = await query(server.url, look);
      return JSON.stringify(row) === JSON.stringify(expected);
    }, "the primary waits for the standby");
    await standby.kill();
    const { child, httpUrl } = await Child.serve("--storage", urlOf("session_pool"), "--call-timeout-ms", "1000");
    const waiting = await callRest(httpUrl, undefined, "POST", "/session", { sessionId: "alone" });
    expect(waiting).toMatchObject({ code: 4 });
    await query(server.url, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()");
    child.kill("SIGTERM");
    await child.ended();
  });
});

/** The statements of a program in SQL, each of which ends with its line. */
function statementsOf(program: string): string[] {
  return program.trim().split(/(?<=;)\n/);
}

async function answersOf(storage: string): Promise<object> {
  const { child, httpUrl } = await Child.serve("--storage", storage);
  const answers = await storeAnswers(httpUrl);
  child.kill("SIGTERM");
  await child.ended();
  return answers;
}

await describeWith(
  "a server whose settings endanger what is acknowledged",
  async () => {
    const server = await startOwnPostgresServer({ fast: true, settings: { synchronous_commit: "off" } });
    if (server === null) throw new NotHere("no PostgreSQL");
    return server;
  },
  (server) => {
    afterAll(() => server.stop());

    it("is named in the log and at /readyz, which answers 200", async () => {
      const { child, httpUrl } = await Child.serve("--storage", server.url);
      const ready = await fetch(`${httpUrl}/readyz`);
      const text = await ready.text();
      child.kill("SIGTERM");
      const { stderr } = await child.ended();
      expect(ready.status).toBe(200);
      const warned = [...text.matchAll(/^warning: (\w+) is off in PostgreSQL/gm)].map(([, setting]) => setting);
      expect(warned).toEqual(["fsync", "full_page_writes", "synchronous_commit"]);
      for (const setting of warned) expect(stderr).toContain(`${setting} is off in PostgreSQL`);
    });
  },
);
