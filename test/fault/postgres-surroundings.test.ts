import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { entry, own } from "../contract/log-store/fixtures.js";
import { openPostgresDatabase, schemaOf } from "../support/postgres-database.js";
import { freshDatabaseUrl, query, startPostgresServer } from "../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());
afterEach(() => void vi.useRealTimers());

describe.skipIf(!server)("a database that somebody has set up", () => {
  it("takes writes when triggers on its tables warn", async () => {
    const database = await openPostgresDatabase(server);
    const s = schemaOf(database);
    await query(
      server?.url ?? "",
      `CREATE FUNCTION ${s}.warn() RETURNS trigger LANGUAGE plpgsql AS $f$
        BEGIN RAISE WARNING 'somebody looks'; RETURN NEW; END $f$`,
      `CREATE TRIGGER warn BEFORE INSERT OR UPDATE ON ${s}.sessions FOR EACH ROW EXECUTE FUNCTION ${s}.warn()`,
      `CREATE TRIGGER warn BEFORE INSERT ON ${s}.messages FOR EACH ROW EXECUTE FUNCTION ${s}.warn()`,
    );
    const store = database.namespace("default");
    await own(store, "u.1");
    expect(await store.append("u.1", 1, [entry("u.1", 1)])).toBe(1);
    expect(await store.addFork("u", 1)).toBe(true);
    await database.close();
  });

  it("is refused when its transactions see only what was there when they began", async () => {
    const url = await freshUrl();
    for (const isolation of ["repeatable read", "serializable"]) {
      await set(url, "default_transaction_isolation", isolation);
      await expect(PostgresLogDatabase.connect(url)).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining(`default_transaction_isolation is ${isolation}`),
      });
    }
    await set(url, "default_transaction_isolation", "read uncommitted");
    await (await PostgresLogDatabase.connect(url)).close();
  });

  it("is not opened, and nothing goes on running, when its transactions are read-only", async () => {
    const url = await freshUrl();
    await (await PostgresLogDatabase.connect(url, { search: true })).close();
    await set(url, "default_transaction_read_only", "on");
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    await expect(PostgresLogDatabase.connect(url, { search: true })).rejects.toMatchObject({
      code: "unavailable",
      message: "PostgreSQL is a standby, or read-only",
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});

async function freshUrl(): Promise<string> {
  if (!server) throw new Error("There is no PostgreSQL server");
  return freshDatabaseUrl(server);
}

/** Sets what the connections to a database begin with. */
async function set(url: string, setting: string, value: string): Promise<void> {
  await query(server?.url ?? "", `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting} = '${value}'`);
}
