import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { run } from "../support/child.js";
import { freshDatabaseUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { describeWith, run as runProgram } from "../support/toolchain.js";

/** Names that a careless program would not quote. The role's ends no quotation, and the schema's no comment. */
const ODD_SCHEMA = `it's "odd"; \\ -- %s {} ünï`;
const ODD_ROLE = `role "x"; DROP -- '`;

const folder = mkdtempSync(join(tmpdir(), "session-pool-schema-"));
const server = await startOwnPostgresServer({ fast: true });
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

it("needs a role, and says in its help what its options are", async () => {
  expect(await run(["schema"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--role") });
  const { code, stdout } = await run(["schema", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/--schema <name> .*\(default: "session_pool"\)/s);
  expect(stdout).toMatch(/--role <name> /);
});

it.each(["", "pg_catalog", "PG_x", "x".repeat(64), "ü".repeat(32), "a$f$b"])("refuses the schema %j", async (name) => {
  const { code, stdout, stderr } = await run(["schema", "--role", "app", "--schema", name]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^session-pool: The name of a PostgreSQL schema must be 1 to 63 bytes long/);
});

it("prints the same as a server makes by itself", async (context) => {
  if (!server) return context.skip("There is no PostgreSQL server");
  const [printed, made] = [await freshDatabaseUrl(server), await freshDatabaseUrl(server)];
  const { stdout } = await run(["schema", "--role", "session_pool"]);
  await query(printed, stdout);
  await (await PostgresLogDatabase.connect(made, { search: true })).close();
  expect(await shapeOf(printed)).toEqual(await shapeOf(made));
});

async function needPsql(): Promise<string> {
  await runProgram("psql", ["--version"]);
  return "psql";
}

await describeWith("psql", needPsql, (psql) => {
  describe.skipIf(!server)("with a server", () => {
    const psqlArgs = (url: string, file: string) => ["--set", "ON_ERROR_STOP=1", "--no-psqlrc", "--file", file, url];

    it.each([
      ["session_pool", "app"],
      [ODD_SCHEMA, ODD_ROLE],
    ])("runs what is printed for the schema %j and the role %j, and the role can use it", async (schema, role) => {
      const url = await freshDatabaseUrl(server!);
      const file = join(folder, "schema.sql");
      const { stdout } = await run(["schema", "--schema", schema, "--role", role]);
      writeFileSync(file, stdout);
      await query(url, `CREATE ROLE ${quoted(role)} LOGIN`);
      await runProgram(psql, psqlArgs(url, file));
      const as = new URL(url);
      as.username = encodeURIComponent(role);
      as.searchParams.set("schema", schema);
      const added = await run(["todo", "add", "Pack", "--storage", as.href]);
      expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('"content":"Pack"') });
      await query(url, `CREATE TABLE ${quoted(schema)}.kept AS SELECT 1 AS one`);
      // A second run fails as a whole and changes nothing.
      await expect(runProgram(psql, psqlArgs(url, file))).rejects.toThrow("already exists");
      expect(await query(url, `SELECT one FROM ${quoted(schema)}.kept`)).toEqual([{ one: 1 }]);
      expect((await run(["todo", "list", "--storage", as.href])).stdout).toBe(added.stdout);
    });
  });
});

/** What the catalog says about the tables, indexes and functions of the default schema. */
async function shapeOf(url: string): Promise<unknown> {
  return query(
    url,
    `SELECT 'column' AS kind, c.relname || '.' || a.attname AS name,
        concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation, a.attstattarget) AS text
      FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
      WHERE c.relnamespace = 'session_pool'::regnamespace AND a.attnum > 0 AND c.relkind = 'r'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'session_pool'
    UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc
      WHERE pronamespace = 'session_pool'::regnamespace
    UNION ALL SELECT 'options', relname, reloptions::text FROM pg_class
      WHERE relnamespace = 'session_pool'::regnamespace AND relkind = 'r'
    ORDER BY 1, 2`,
  );
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
