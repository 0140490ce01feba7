import { afterAll, describe, expect, it } from "vitest";
import { entry, own } from "../contract/log-store/fixtures.js";
import { openPostgresDatabase, schemaOf } from "../support/postgres-database.js";
import { query, startPostgresServer } from "../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

describe.skipIf(!server)("what else happens in the database", () => {
  it("writes to tables whose triggers warn", async () => {
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
    const call = { deadlineMs: Date.now() + 5000 };
    await own(store, "u.1");
    expect(await store.append("u.1", 1, [entry("u.1", 1)], call)).toBe(1);
    expect(await store.addFork("u", 1, call)).toBe(true);
    await database.close();
  });
});
