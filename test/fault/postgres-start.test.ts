import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { build } from "esbuild";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { quoted } from "../../src/storage/postgres/postgres-url.js";
import { schemaScript } from "../../src/storage/postgres/prepare-schema.js";
import { SCHEMA_VERSION } from "../../src/storage/postgres/schema.js";
import { SEARCH_INDEXES } from "../../src/storage/postgres/search-schema.js";
import { created, entry, fill, own, replaced, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { PASSWORD } from "../support/postgres-folder.js";
import { startPostgresProxy } from "../support/postgres-proxy.js";
import { freshDatabaseUrl, freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { notice } from "../support/postgres-wire.js";

const PROCESSES = 8;
const WAITING = "FROM pg_stat_activity WHERE application_name = 'session-pool' AND wait_event_type = 'Lock'";

const server = await startOwnPostgresServer({ fast: true, password: true });
afterAll(() => server?.stop());

function schemaOf(url: string): string {
  return new URL(url).searchParams.get("schema") ?? "";
}

async function failure(url: string, options = {}): Promise<Error & { code: string }> {
  return PostgresLogDatabase.connect(url, options).then(
    async (database) => {
      await database.close();
      throw new Error("This was opened");
    },
    (error) => error,
  );
}

/** Everything that a logger might print of an error, with all of its causes. */
function printed(error: unknown): string {
  const own = error instanceof Error ? Object.getOwnPropertyNames(error) : [];
  const values = own.map((name) => String((error as unknown as Record<string, unknown>)[name]));
  return [...values, ...(error instanceof Error && error.cause ? [printed(error.cause)] : [])].join("\n");
}

describe.skipIf(!server)("a server or a database that cannot be used", () => {
  const changed = (change: (url: URL) => void) => {
    const url = new URL(server!.url);
    change(url);
    return url.href;
  };
  const refusals: [string, () => string | Promise<string>, string, RegExp][] = [
    [
      "a wrong password",
      () => changed((url) => (url.password = "wrong-secret")),
      "failed_precondition",
      /password auth/,
    ],
    ["no password", () => changed((url) => (url.password = "")), "failed_precondition", /password must be/],
    ["an unknown user", () => changed((url) => (url.username = "nobody")), "failed_precondition", /"nobody"/],
    [
      "no such database",
      () => changed((url) => (url.pathname = "/missing")),
      "failed_precondition",
      /"missing" does not/,
    ],
    ["no TLS", () => `${server!.url}?sslmode=verify-full`, "failed_precondition", /does not support SSL/],
    ["no such certificate", () => `${server!.url}?sslrootcert=/missing`, "failed_precondition", /ENOENT.*\/missing/],
    [
      "no server",
      () => changed((url) => (url.port = "1")),
      "unavailable",
      /^postgres:\/\/127.0.0.1:1\/postgres does not answer: connect ECONNREFUSED/,
    ],
  ];

  it.each(refusals)("says so: %s", async (_name, url, code, message) => {
    const error = await failure(await url());
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "wrong-secret"]) {
      expect(printed(error)).not.toContain(secret);
    }
  });

  it("says so: another encoding", async () => {
    await query(
      server!.url,
      "CREATE DATABASE ascii ENCODING SQL_ASCII LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0",
    );
    const error = await failure(changed((url) => (url.pathname = "/ascii")));
    expect(error).toMatchObject({ code: "failed_precondition", message: expect.stringContaining("SQL_ASCII") });
  });

  it("says so: tables of a newer version, and changes nothing", async () => {
    const url = freshSchemaUrl(server!);
    await (await PostgresLogDatabase.connect(url)).close();
    await query(server!.url, `UPDATE ${schemaOf(url)}.meta SET version = ${SCHEMA_VERSION + 1}`);
    expect(await failure(url, { search: true })).toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(
        `has version ${SCHEMA_VERSION + 1}, made by a newer version; this one knows ${SCHEMA_VERSION}`,
      ),
    });
    const indexes = `SELECT 1 FROM pg_indexes WHERE schemaname = '${schemaOf(url)}' AND indexname LIKE 'messages%words%'`;
    expect(await query(server!.url, indexes)).toEqual([]);
  });

  it.each([
    ["CREATE TABLE messages (id int)", /"messages" already exists/],
    ["CREATE TABLE meta (id int)", /column "version" does not exist/],
    ["CREATE TABLE meta (id int, version int)", /Table meta of schema .* is not session-pool's/],
  ])("says so: %s by somebody else, which it keeps", async (statement, message) => {
    const url = freshSchemaUrl(server!);
    const schema = schemaOf(url);
    await query(server!.url, `CREATE SCHEMA ${schema}`, `SET search_path = ${schema}`, statement);
    expect(await failure(url)).toMatchObject({ code: "failed_precondition", message: expect.stringMatching(message) });
    const tables = await query(server!.url, `SELECT 1 FROM pg_tables WHERE schemaname = '${schema}'`);
    expect(tables).toHaveLength(1);
  });
});

it.skipIf(!server)("waits for a server that is starting", async () => {
  const starting = notice({ S: "FATAL", C: "57P03", M: "the database system is starting up" });
  starting.write("E");
  let refused = 0;
  const front = createServer((client) => {
    if (refused < 2) {
      refused++;
      client.once("data", () => client.end(starting));
      return;
    }
    const behind = connect(server!.process.port, "127.0.0.1");
    pipeline(client, behind, client, () => {});
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void front.close());
  const url = new URL(freshSchemaUrl(server!));
  url.port = String((front.address() as AddressInfo).port);
  await (await PostgresLogDatabase.connect(url.href)).close();
  expect(refused).toBe(2);
});

it.skipIf(!server)("ends with an error when a server takes connections and does not answer", async () => {
  const proxy = await startPostgresProxy(server!.process.port);
  const url = new URL(freshSchemaUrl(server!));
  url.port = String(proxy.port);
  proxy.hold();
  expect(await failure(url.href, { timeoutMs: 300 })).toMatchObject({ code: "unavailable" });
  await proxy.close();
});

describe.skipIf(!server)("a new schema", () => {
  it("is made once by processes that start together", async () => {
    const script = join(process.cwd(), "node_modules/.cache", `${randomUUID()}.mjs`);
    const contents = `
      import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
      import { created } from "../contract/log-store/fixtures.js";
      process.stdin.once("data", async () => {
        const database = await PostgresLogDatabase.connect(process.argv[2], { search: true });
        await created(database.namespace("default"), "u" + process.pid);
        console.log(database.namespace("default").searchEntries === undefined ? "no search" : "search");
        await database.close();
        process.exit(0);
      });
      console.log("ready");`;
    const stdin = { contents, resolveDir: import.meta.dirname };
    await build({ stdin, outfile: script, bundle: true, format: "esm", platform: "node", packages: "external" });
    const url = new URL(await freshDatabaseUrl(server!));
    url.searchParams.set("connections", "2");
    const children = Array.from({ length: PROCESSES }, () => {
      const child = spawn(process.execPath, [script, url.href], { stdio: ["pipe", "pipe", "inherit"] });
      let output = "";
      child.stdout.on("data", (chunk) => {
        output += chunk;
      });
      return { child, output: () => output, ended: once(child, "close") };
    });
    await poll(() => children.every(({ output }) => output().includes("ready")), "all processes are ready");
    for (const { child } of children) child.stdin.write("go\n");
    await Promise.all(children.map(({ ended }) => ended));
    expect(children.map(({ child, output }) => [child.exitCode, output()])).toEqual(
      children.map(() => [0, "ready\nsearch\n"]),
    );
    expect(await query(url.href, "SELECT version FROM session_pool.meta")).toEqual([{ version: SCHEMA_VERSION }]);
    const database = await PostgresLogDatabase.connect(url.href);
    expect(await database.namespace("default").scanRecords("", 99)).toHaveLength(PROCESSES);
    await database.close();
    await rm(script);
  });

  it("is whole or not there when the process that makes it dies", async () => {
    const url = freshSchemaUrl(server!);
    const schema = schemaOf(url);
    // Another transaction has made the same schema, so this one waits in the middle of its own.
    const rival = new pg.Client(server!.url);
    await rival.connect();
    await rival.query("BEGIN");
    await rival.query(`CREATE SCHEMA ${schema}`);
    const dying = failure(url);
    await poll(async () => (await query(server!.url, `SELECT pid ${WAITING}`)).length === 1, "it waits");
    await query(server!.url, `SELECT pg_terminate_backend(pid) ${WAITING}`);
    expect(await dying).toMatchObject({ code: "unavailable" });
    await rival.query("ROLLBACK");
    await rival.end();
    const database = await PostgresLogDatabase.connect(url);
    await fill(database.namespace("default"), "u.1", 1, 2);
    await database.close();
  });
});

describe.skipIf(!server)("the indexes of words", () => {
  it("are given up when something else has the name of one", async () => {
    const url = freshSchemaUrl(server!);
    await (await PostgresLogDatabase.connect(url)).close();
    await query(server!.url, `CREATE TABLE ${schemaOf(url)}.messages_by_words (id int)`);
    const error = await failure(url, { search: true });
    expect(error).toMatchObject({ code: "failed_precondition", message: expect.stringMatching(/"messages_by_words"/) });
  });

  it("are made again when their making was interrupted, by all processes that start together", async () => {
    const url = new URL(freshSchemaUrl(server!));
    url.searchParams.set("connections", "2");
    const first = await PostgresLogDatabase.connect(url.href);
    await fill(first.namespace("default"), "u.1", 1, 5);
    const schema = schemaOf(url.href);
    // Whoever makes an index waits for this transaction, and leaves an index that is not valid when it is ended.
    const writer = new pg.Client(server!.url);
    await writer.connect();
    await writer.query("BEGIN");
    await writer.query(`DELETE FROM ${schema}.messages WHERE uid = 'nobody'`);
    const interrupted = failure(url.href, { search: true });
    const making = "FROM pg_stat_progress_create_index";
    await poll(async () => (await query(server!.url, `SELECT pid ${making}`)).length === 1, "an index is being made");
    await query(server!.url, `SELECT pg_terminate_backend(pid) ${making}`);
    expect(await interrupted).toMatchObject({ code: "unavailable" });
    const indexes = `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = '${schema}' AND c.relname = ANY ('{${Object.keys(SEARCH_INDEXES)}}') ORDER BY 1`;
    expect(await query(server!.url, indexes)).toEqual([{ name: "messages_by_words", valid: false }]);
    const opened = Promise.all(
      Array.from({ length: 3 }, () => PostgresLogDatabase.connect(url.href, { search: true })),
    );
    await poll(async () => (await query(server!.url, `SELECT pid ${WAITING}`)).length === 3, "all wait for the writer");
    await writer.query("ROLLBACK");
    await writer.end();
    const databases = await opened;
    expect(await query(server!.url, indexes)).toEqual(
      Object.keys(SEARCH_INDEXES)
        .filter((name) => name !== "messages_lacking_all")
        .sort()
        .map((name) => ({ name, valid: true })),
    );
    const [searching] = databases;
    await searching?.searchBuilt();
    const found = await searching
      ?.namespace("default")
      .searchEntries?.({ terms: [term("message")], scope: "text" }, { limit: 9 });
    expect(found?.entries).toHaveLength(5);
    for (const database of [...databases, first]) await database.close();
  });
});

describe.skipIf(!server).each(["plain", 'O"dd Schéma; --'])(
  "a role that may not create anything, and schema %s",
  (name) => {
    it("is told what to run, and everything works once an administrator has", async () => {
      const admin = await freshDatabaseUrl(server!);
      const role = `role of ${randomUUID()}`;
      await query(admin, `CREATE ROLE ${quoted(role)} LOGIN PASSWORD 'limited'`);
      const url = new URL(admin);
      url.username = encodeURIComponent(role);
      url.password = "limited";
      url.searchParams.set("schema", name);
      const refused = {
        code: "failed_precondition",
        message: expect.stringContaining("`session-pool schema` prints the SQL"),
      };
      expect(await failure(url.href)).toMatchObject(refused);
      await query(admin, `CREATE SCHEMA ${quoted(name)}`);
      expect(await failure(url.href)).toMatchObject({ code: "failed_precondition" });
      await query(admin, `DROP SCHEMA ${quoted(name)}`, schemaScript(name, role));

      const database = await PostgresLogDatabase.connect(url.href, { search: true });
      const store = database.namespace("default");
      await fill(store, "u.1", 1, 3);
      await own(store, "u.2");
      expect(await store.append("u.1", 4, [entry("u.1", 4)])).toBe(1);
      expect(await store.seal("u.1")).toBe(4);
      const record = await store.readRecordByUid("u");
      expect(await store.raiseForks(record?.sessionId ?? "")).toMatchObject({ forks: 1 });
      expect(await store.addFork("u", -1)).toBe(true);
      expect((await store.readNewest?.(record?.sessionId ?? "", { limit: 9, maxBytes: 999 }))?.record.uid).toBe("u");
      await store.overwriteEntries([entry("u.1", 2)]);
      expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3, 4]);
      expect(await store.replaceTodos([], 0)).toBe(true);
      const labeled = await created(store, "w", { labels: { kind: "test" } });
      expect(await store.listRecords({ parentId: "", labels: ["kind=test"] }, { limit: 9 })).toHaveLength(1);
      await replaced(store, labeled, { deleted: true });
      expect(await store.deleteRecord("w")).toBe(true);
      expect(await store.deleteEntries({ uid: "u" }, 99)).toBe(false);
      expect(await database.figures()).toMatchObject({ sessions: 1 });
      expect(await database.listNamespaces()).toEqual(["default"]);
      await store.ping();
      await database.close();
    });
  },
);

function term(word: string) {
  return { text: word, words: [word], isPrefix: false };
}
