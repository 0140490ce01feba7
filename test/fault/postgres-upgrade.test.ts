import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { compareCodePoints, NEWEST_FIRST, titleKey, titleWords } from "../../src/domain/session-order.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { quoted } from "../../src/storage/postgres/postgres-url.js";
import { upgradeScript } from "../../src/storage/postgres/prepare-schema.js";
import { ownersSql, SCHEMA_VERSION, TABLES } from "../../src/storage/postgres/schema.js";
import { created } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { freshDatabaseUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { answeredBefore, answeredNow, releasedStore } from "../support/released-store.js";

const WAITING = "FROM pg_stat_activity WHERE application_name = 'session-pool' AND wait_event_type = 'Lock'";
const SCHEMA = "session_pool";

const server = await startOwnPostgresServer({ fast: true });
afterAll(() => server?.stop());

describe.skipIf(!server).each([1, 2])("a schema of version %i", (version) => {
  let url: string;

  beforeEach(async () => {
    url = await freshDatabaseUrl(server!);
    await query(url, releasedStore("postgres.sql"));
    if (version === 2) await query(url, ownersSql(SCHEMA), `UPDATE ${SCHEMA}.meta SET version = 2`);
  });

  const versionOf = async () => (await query(url, `SELECT version FROM ${SCHEMA}.meta`))[0]?.version;
  /** The tables and columns that a later version has. */
  const additions = () =>
    query(
      url,
      `SELECT table_name FROM information_schema.columns WHERE table_schema = '${SCHEMA}'
        AND (table_name LIKE 'attachment%' OR column_name = 'owner' AND ${version === 1})`,
    );

  async function expectUpgraded(database: PostgresLogDatabase): Promise<void> {
    const store = database.namespace("default");
    expect(await answeredNow(store)).toEqual(answeredBefore("postgres.answers.jsonl"));
    const all = Object.keys(answeredBefore("postgres.answers.jsonl")).sort();
    const found = await store.listRecords({ parentId: "", owner: "" }, { limit: 99 });
    expect(found.map(({ sessionId }) => sessionId).sort()).toEqual(all);
    const labels = ["topic=travel"];
    expect(await store.listRecords({ parentId: "", owner: "", labels }, { limit: 99 })).toHaveLength(3);
    const byTitle = await store.queries?.find(
      { parentId: "", order: { by: "title", descending: false } },
      { limit: 99 },
    );
    const keys = (records: typeof found) => records.map(({ title }) => titleKey(title));
    expect(keys(byTitle?.records ?? [])).toEqual(keys(found).toSorted(compareCodePoints));
    for (const { title, uid } of found) {
      const titled = { parentId: "", titleWords: titleWords(title), order: NEWEST_FIRST };
      expect((await store.queries?.find(titled, { limit: 99 }))?.records.map((one) => one.uid)).toContain(uid);
    }
    expect(await store.usage({})).toEqual({ sessions: all.length, bytes: 0, uncounted: all.length });
    await created(store, "u", { owner: "ada", labels: { topic: "travel" }, isCounted: true });
    await store.addBytes(new Map([["u", 5]]));
    expect(await store.usage({ owner: "ada" })).toEqual({ sessions: 1, bytes: 5, uncounted: 0 });
    expect(await store.listRecords({ parentId: "", owner: "ada", labels }, { limit: 99 })).toHaveLength(1);
    const provider = new LogHistoryProvider(store);
    const [sessionId = ""] = all;
    const bytes = Readable.from([Buffer.from("bytes")]);
    const { attachmentId } = await provider.uploadAttachment(sessionId, { name: "a.txt" }, bytes);
    const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
    await provider.logMessages(sessionId, [{ role: "user", parts: [{ id: "", type: "file", text: "", attachment }] }]);
    await expect(provider.deleteAttachment(sessionId, attachmentId)).rejects.toMatchObject({
      code: "failed_precondition",
    });
  }

  it("is upgraded with everything that it holds, and is then the same as a new one", async () => {
    const database = await PostgresLogDatabase.connect(url);
    await expectUpgraded(database);
    await database.close();
    expect(await versionOf()).toBe(SCHEMA_VERSION);
    const fresh = await freshDatabaseUrl(server!);
    await (await PostgresLogDatabase.connect(fresh)).close();
    expect(await shapeOf(url)).toEqual(await shapeOf(fresh));
  });

  it("is upgraded once by processes that start together", async () => {
    const databases = await Promise.all(Array.from({ length: 5 }, () => PostgresLogDatabase.connect(url)));
    await expectUpgraded(databases[4] as PostgresLogDatabase);
    for (const database of databases) await database.close();
    expect(await versionOf()).toBe(SCHEMA_VERSION);
  });

  it("stays as it is when the process that upgrades it dies, and the next one does it", async () => {
    // The upgrade has changed some tables when it waits for this transaction to give up another one.
    const reader = new pg.Client(url);
    await reader.connect();
    await reader.query("BEGIN");
    await reader.query(`SELECT 1 FROM ${SCHEMA}.${version === 1 ? "labels" : "meta FOR SHARE"}`);
    const dying = PostgresLogDatabase.connect(url).catch((error) => error);
    const waiting = `SELECT pid ${WAITING} AND query ~ '(ALTER|CREATE) TABLE'`;
    await poll(async () => (await query(url, waiting)).length === 1, "it waits");
    await query(url, `SELECT pg_terminate_backend(pid) ${WAITING}`);
    expect(await dying).toMatchObject({ code: "unavailable" });
    await reader.query("ROLLBACK");
    await reader.end();
    expect([await versionOf(), await additions()]).toEqual([version, []]);
    const database = await PostgresLogDatabase.connect(url);
    await expectUpgraded(database);
    await database.close();
  });

  it("is upgraded by an administrator for a role that may only use it", async () => {
    const role = `role of ${randomUUID()}`;
    const as = new URL(url);
    as.username = encodeURIComponent(role);
    await query(
      url,
      `CREATE ROLE ${quoted(role)} LOGIN`,
      `GRANT USAGE ON SCHEMA ${SCHEMA} TO ${quoted(role)}`,
      `GRANT SELECT ON ${SCHEMA}.meta TO ${quoted(role)}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${TABLES.slice(0, 4).map((table) => `${SCHEMA}.${table}`)} TO ${quoted(role)}`,
      `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO ${quoted(role)}`,
    );
    const refused = await PostgresLogDatabase.connect(as.href).catch((error) => error);
    expect(refused).toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^The role may not upgrade schema .*`session-pool schema --upgrade` prints the SQL/,
      ),
    });
    expect([await versionOf(), await additions()]).toEqual([version, []]);
    await query(url, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC");
    await query(url, upgradeScript(SCHEMA, role));
    const database = await PostgresLogDatabase.connect(as.href);
    await expectUpgraded(database);
    await database.close();
    await expect(query(url, upgradeScript(SCHEMA, role))).rejects.toThrow("already exists");
  });
});

/** What the catalog says about the columns, indexes and functions. The order of columns does not matter. */
function shapeOf(url: string): Promise<unknown> {
  return query(
    url,
    `SELECT 'column' AS kind, table_name || '.' || column_name AS name,
        concat_ws(' ', data_type, is_nullable, column_default, collation_name) AS text
      FROM information_schema.columns WHERE table_schema = '${SCHEMA}'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = '${SCHEMA}'
    UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc
      WHERE pronamespace = '${SCHEMA}'::regnamespace
    ORDER BY 1, 2`,
  );
}
