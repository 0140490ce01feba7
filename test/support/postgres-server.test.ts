import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import pg from "pg";
import { afterAll, describe, expect, it, vi } from "vitest";
import { makeCertificate } from "./certificate.js";
import { poll } from "./poll.js";
import {
  freshDatabaseUrl,
  freshSchemaUrl,
  query,
  startOwnPostgresServer,
  startPostgresServer,
} from "./postgres-server.js";

const server = await startOwnPostgresServer();
afterAll(() => server?.stop());

const url = server?.url ?? "";

describe.skipIf(server === null)("a PostgreSQL server of the tests", () => {
  it("stores durably, and sorts by language unless told otherwise", async () => {
    const version = "current_setting('server_version_num')::int";
    const rows = await query(url, `SELECT current_setting('fsync') AS fsync, 'a' < 'B' OR ${version} < 150000 AS ok`);
    expect(rows).toEqual([{ fsync: "on", ok: true }]);
  });

  it("says nothing while it is frozen, also on open connections, and answers afterwards", async () => {
    const client = new pg.Client(url);
    await client.connect();
    await server!.process.freeze();
    const now = "SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms";
    const answers = Promise.all([client.query(now).then(({ rows }) => rows), query(url, now)]);
    // While another server starts and answers, this one would have answered, too.
    const other = await startOwnPostgresServer({ fast: true });
    await query(other!.url, now);
    const thawedMs = Date.now();
    server!.process.thaw();
    for (const [row] of await answers) expect(Number(row?.ms)).toBeGreaterThanOrEqual(thawedMs);
    await other!.stop();
    await client.end();
  });

  it("keeps what was committed when it is killed, and nothing else, and starts again on its port", async () => {
    const client = new pg.Client(url);
    client.on("error", () => {});
    await client.connect();
    await client.query("CREATE TABLE kept AS SELECT 1 AS one");
    await client.query("BEGIN");
    await client.query("INSERT INTO kept VALUES (2)");
    await server!.process.killAndRestart();
    await expect(client.query("SELECT 1")).rejects.toThrow();
    expect(await query(url, "SELECT one FROM kept")).toEqual([{ one: 1 }]);
    expect(server!.process.log).toContain("was not properly shut down");
  });

  it("can be killed while it is frozen", async () => {
    await server!.process.freeze();
    await server!.process.killAndRestart();
    expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("gives each caller a schema or a database of its own", async () => {
    const schemas = [freshSchemaUrl(server!), freshSchemaUrl(server!)].map((one) =>
      new URL(one).searchParams.get("schema"),
    );
    expect(new Set(schemas).size).toBe(2);
    const made = await freshDatabaseUrl(server!);
    const [row] = await query(made, "SELECT current_database() AS name");
    expect(`/${row?.name}`).toBe(new URL(made).pathname);
  });

  it("is the one that POSTGRES_URL names, and keeps nothing that a test has made there", async () => {
    vi.stubEnv("POSTGRES_URL", url);
    const given = await startPostgresServer({ fast: true });
    expect(given).toMatchObject({ url, kind: "given", process: null });
    const schema = new URL(freshSchemaUrl(given!)).searchParams.get("schema");
    const made = "SELECT nspname AS name FROM pg_namespace UNION ALL SELECT datname FROM pg_database";
    const before = await query(url, made);
    await query(url, `CREATE SCHEMA ${schema} CREATE TABLE one ()`);
    const client = new pg.Client(await freshDatabaseUrl(given!));
    client.on("error", () => {});
    await client.connect();
    expect(await query(url, made)).toHaveLength(before.length + 2);
    await given!.stop();
    expect(await query(url, made)).toEqual(before);
    vi.unstubAllEnvs();
  });

  it("ends with its folder when it is stopped, even while it is frozen", async () => {
    const other = await startOwnPostgresServer();
    const { folder } = other!.process;
    await other!.process.freeze();
    await other!.stop();
    expect(existsSync(folder)).toBe(false);
    await expect(query(other!.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  it("ends with its folder when the tests are killed", async () => {
    const script = join(process.cwd(), "node_modules/.cache", `${randomUUID()}.mjs`);
    const contents = `
      import { startOwnPostgresServer, startPostgresServer } from "./postgres-server.js";
      const { url, process: { folder } } = await startOwnPostgresServer();
      console.log(JSON.stringify({ url, folder }));`;
    const stdin = { contents, resolveDir: import.meta.dirname };
    await build({ stdin, outfile: script, bundle: true, format: "esm", platform: "node", packages: "external" });
    const owner = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface(owner.stdout), "line");
    const { url: ofOwner, folder } = JSON.parse(line);
    expect(await query(ofOwner, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    owner.kill("SIGKILL");
    await poll(() => !existsSync(folder), "the folder is gone");
    await expect(query(ofOwner, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await rm(script);
  });

  it("asks for a password and for TLS where a test wants it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "session-pool-certificate-"));
    const tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
    await makeCertificate(tls);
    const other = await startOwnPostgresServer({ password: true, tls, fast: true });
    const secure = `${other!.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(tls.certPath)}`;
    const rows = await query(
      secure,
      "SELECT ssl, current_setting('fsync') AS fsync FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    );
    expect(rows).toEqual([{ ssl: true, fsync: "off" }]);
    await expect(query(other!.url, "SELECT 1")).rejects.toThrow("no encryption");
    const wrong = new URL(secure);
    wrong.password = "wrong";
    await expect(query(wrong.href, "SELECT 1")).rejects.toThrow("password authentication failed");
    await other!.stop();
    await rm(folder, { recursive: true });
  });
});
