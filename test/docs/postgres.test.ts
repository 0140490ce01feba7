import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { SCHEMA_VERSION } from "../../src/storage/postgres/schema.js";
import { Bundler, documentedProgram, promisedLines } from "../clients/documented.js";
import { makeCertificate } from "../support/certificate.js";
import { Child, run } from "../support/child.js";
import { PageCommands } from "../support/page-commands.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { poll } from "../support/poll.js";
import { type OwnPostgresServer, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { callRest } from "../support/store-answers.js";
import { describeWith, NotHere, needPrograms, ROOT } from "../support/toolchain.js";

const DATABASE = "session_pool";
const POLLS = "PostgreSQL sends no notifications here: watchers poll";

async function findServer(): Promise<OwnPostgresServer> {
  needPrograms("psql");
  const server = await startOwnPostgresServer();
  if (server === null) throw new NotHere("no PostgreSQL");
  return server;
}

/** The cases go along the page, on one server. */
await describeWith("the page on PostgreSQL", findServer, (server) => {
  const { host, port, username } = new URL(server.url);
  const own: readonly (readonly [string, string])[] = [
    ["--host db1 --username postgres", `--host 127.0.0.1 --port ${port} --username ${username}`],
    ["@db1/", `@${host}/`],
    ["%40db1%2F", `%40${encodeURIComponent(host)}%2F`],
  ];
  const admin = (database: string) => Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
  const app = `postgres://app:password@${host}/${DATABASE}`;
  let folder: string;

  beforeAll(async () => {
    await query(server.url, ...documentedProgram("sql", "CREATE ROLE app LOGIN").trim().split("\n"));
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-postgres-page-"));
  });
  afterEach(() => rm(folder, { recursive: true }));
  afterAll(() => server.stop());

  const pageIn = (replaced = own) => PageCommands.in(folder, "docs/operations/postgres.md", replaced);

  it("leads to a server that makes its tables and keeps a session", async () => {
    const page = await pageIn();
    await page.run("Run it");
    const { url, stop } = await page.serve("Run it", 1);
    expect(await callRest(url, undefined, "POST", "/session", { sessionId: "trip" })).toMatchObject({ revision: "1" });
    await stop();
    expect(await query(admin(DATABASE), "SELECT version FROM session_pool.meta")).toEqual([
      { version: SCHEMA_VERSION },
    ]);
  });

  it("has SQL for a role that may use the tables and nothing else", async () => {
    await query(admin(DATABASE), `ALTER DATABASE ${DATABASE} OWNER TO ${username}`, "DROP SCHEMA session_pool CASCADE");
    const refused = await run(["serve", "--storage", app]);
    expect(refused.stderr).toContain("`session-pool schema` prints the SQL for a role that may");
    const page = await pageIn();
    await page.run("Roles");
    await page.run("Run it");
    const { url, stop } = await page.serve("Run it", 1);
    await callRest(url, undefined, "POST", "/session", { sessionId: "trip", labels: { topic: "travel" } });
    await callRest(url, undefined, "POST", "/session/trip/message", { info: { id: "m1", role: "user" }, parts: [] });
    const fork = { newSessionId: "fork" };
    expect(await callRest(url, undefined, "POST", "/session/trip/fork", fork)).toMatchObject({ copiedCount: "1" });
    await callRest(url, undefined, "DELETE", "/session/trip");
    await stop();
    for (const args of [["sweep"], ["todo", "add", "pack"], ["erase", "fork", "m1"], ["sessions", "list"]])
      expect(await run([...args, "--storage", app]), args[0]).toMatchObject({ code: 0 });
    for (const sql of [
      "CREATE TABLE session_pool.other (i int)",
      "DROP TABLE session_pool.todos",
      "CREATE SCHEMA other",
    ])
      await expect(query(app, sql), sql).rejects.toThrow(/permission denied|must be owner/);
  });

  it("has a lock_timeout that ends a write which waits for a locked row", async () => {
    const settings = documentedProgram("sql", "SET lock_timeout").replace("'10s'", "'100ms'");
    await query(server.url, ...settings.trim().split("\n"));
    const page = await pageIn();
    await page.run("Run it");
    const { url, stop } = await page.serve("Run it", 1);
    await callRest(url, undefined, "POST", "/session", { sessionId: "locked" });
    const person = new pg.Client(admin(DATABASE));
    await person.connect();
    await person.query("BEGIN");
    await person.query("SELECT 1 FROM session_pool.sessions WHERE session_id = 'locked' FOR UPDATE");
    const message = { info: { id: "m1", role: "user" }, parts: [] };
    expect(await callRest(url, undefined, "POST", "/session/locked/message", message)).toMatchObject({
      code: 14,
      message: "A lock in PostgreSQL was not free in time",
    });
    await person.query("ROLLBACK");
    expect(await callRest(url, undefined, "POST", "/session/locked/message", message)).toMatchObject({ position: "0" });
    await person.end();
    await stop();
  });

  it("counts the connections of a process", async () => {
    const open = () =>
      query(server.url, "SELECT 1 FROM pg_stat_activity WHERE usename = 'app'").then(({ length }) => length);
    const page = await pageIn([...own, ["/session_pool'", "/session_pool?connections=2'"]]);
    await page.run("Run it");
    const { url, stop } = await page.serve("Run it", 1);
    await Promise.all(Array.from({ length: 20 }, () => callRest(url, undefined, "GET", "/session")));
    expect(await open()).toBe(3);
    await stop();
    await poll(async () => (await open()) === 0, "the connections are closed");
  });

  it("has a URL with which processes behind a pooler hear each other", async ({ skip }) => {
    const pooler = await startPgBouncer(server);
    if (pooler === null) return skip("no PgBouncer");
    onTestFinished(() => pooler.stop());
    const page = await pageIn([...own, ["@pooler:6432/", `@${new URL(pooler.url).host}/`]]);
    await page.run("Run it");
    await page.run("Poolers");
    const hearing = await page.serve("Poolers", 1);
    await hearing.stop();
    expect(hearing.log()).not.toContain(POLLS);
    const pooled = join(folder, "secrets/pooled");
    await writeFile(pooled, (await readFile(pooled, "utf8")).replace(/\?listen=.*/, ""));
    const polling = await page.serve("Poolers", 1);
    await polling.stop();
    expect(polling.log()).toContain(POLLS);
  });

  it("has a program that embeds the store", async () => {
    const program = documentedProgram("js", "PostgresStorageProvider.open");
    const source = program
      .replace('"session-pool"', JSON.stringify(join(ROOT, "src/index.ts")))
      .replace("@db1/", `@${host}/`);
    const bundler = new Bundler("postgres-page-");
    const printed = execFileSync(process.execPath, [await bundler.bundle("embedded", source)], { encoding: "utf8" });
    bundler.remove();
    expect(printed.trim().split("\n")).toEqual(promisedLines(program));
  });
});

/** A server that takes only connections with TLS, and asks for a password. */
async function findSecureServer() {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-postgres-tls-"));
  const tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  await makeCertificate(tls);
  const server = await startOwnPostgresServer({ tls, password: true });
  if (server === null) throw new NotHere("no PostgreSQL");
  return { server, folder, certPath: tls.certPath };
}

await describeWith("what the page says of TLS and passwords", findSecureServer, ({ server, folder, certPath }) => {
  beforeAll(async () => {
    const { child } = await Child.serve("--storage", `${server.url}?sslmode=no-verify`);
    child.kill("SIGTERM");
    await child.ended();
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const list = (url: string, env = {}) => run(["sessions", "list", "--storage", url], env);

  it.each([
    ["encrypts and checks", "sslmode=verify-full&sslrootcert=…", 0, /^$/],
    [
      "warns of what a later driver will check less",
      "sslmode=require&sslrootcert=…",
      0,
      /treated as aliases for 'verify-full'/,
    ],
    ["refuses an authority that it does not know", "sslmode=verify-full", 1, /self-signed certificate/],
    ["checks nothing", "sslmode=no-verify", 0, /^$/],
    ["does not encrypt", "", 1, /no encryption/],
  ])("%s with %s", async (_what, options, code, text) => {
    const { code: ended, stderr } = await list(`${server.url}?${options.replace("…", encodeURIComponent(certPath))}`);
    expect(stderr).toMatch(text);
    expect(ended).toBe(code);
  });

  it("takes the password from the environment, or from the file that PGPASSFILE names", async () => {
    const url = new URL(`${server.url}?sslmode=no-verify`);
    const password = decodeURIComponent(url.password);
    url.password = "";
    expect(await list(url.href, { PGPASSWORD: password })).toMatchObject({ code: 0, stderr: "" });
    const file = join(folder, "passwords");
    const escaped = password.replace(/[:\\]/g, "\\$&");
    await writeFile(file, `${url.hostname}:${url.port}:*:${url.username}:${escaped}\n`, { mode: 0o600 });
    const { code, stderr } = await list(url.href, { PGPASSFILE: file });
    expect(stderr).toContain("pgpass support is deprecated");
    expect(code).toBe(0);
  });

  it("shows no password when it cannot connect", async () => {
    const { code, stderr } = await list(server.url.replace("tests", "wrong"));
    expect(code).toBe(1);
    expect(stderr).not.toContain("wrong");
  });
});
