import { afterAll, afterEach, describe, expect, it } from "vitest";
import { usageText } from "../../src/domain/usage-text.js";
import { NOTHING_USED, runningText } from "../../src/storage/history/running-usage.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { PostgresPool } from "../../src/storage/postgres/postgres-pool.js";
import { RECORD_FIELDS } from "../../src/storage/postgres/rows.js";
import { TABLES } from "../../src/storage/postgres/schema.js";
import { type Statements, statementsFor } from "../../src/storage/postgres/statements.js";
import type { Value } from "../../src/storage/postgres/values.js";
import { record, T0 } from "../contract/log-store/fixtures.js";
import { schemaOf } from "../support/postgres-database.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";
import {
  blocksRead,
  explainedUrl,
  isUnbounded,
  type PlannedStatement,
  rowsRead,
  statementsDuring,
  summaryOf,
} from "../support/postgres-statements.js";
import { BIG, readsOf, searchesOf, surveysOf, writesOf } from "./postgres-calls.js";

/** In the namespace of the tests, and in each of 50 others. */
const SESSIONS = { here: 4000, elsewhere: 40, namespaces: 50 };
const ALL_SESSIONS = SESSIONS.here + SESSIONS.elsewhere * SESSIONS.namespaces;
/** No call of the tests returns more than 20 rows, and most statements read as many. */
const MOST_ROWS = 150;
const MOST_BLOCKS = 400;
/**
 * A list of several labels counts at most 1000 sessions of each, and the tests give two. A search looks through the
 * newest 1000 messages.
 */
const MOST_LOOKED_AT = 2000;

const server = await startOwnPostgresServer({ fast: true });
const url = server?.url ?? "";
let database: PostgresLogDatabase | undefined;

afterEach(async () => {
  await database?.close();
  database = undefined;
});
afterAll(() => server?.stop());

/**
 * How a statement is planned. By default that is each time, for its values. Functions keep their plans as long as the
 * connection lives, and with `prepare` everything does: those from an empty database are then used on a full one.
 */
const MODES = {
  "planned for their values": { mode: "force_custom_plan", prepare: false },
  "planned for any values": { mode: "force_generic_plan", prepare: false },
  "with the plans that were made when the tables were empty": { mode: "force_generic_plan", prepare: true },
};

describe.skipIf(!server)("statements of the PostgreSQL store", () => {
  describe.each(Object.entries(MODES))("%s", (_, { mode, prepare }) => {
    const open = async () => {
      const address = `${freshSchemaUrl(server as NonNullable<typeof server>)}&connections=1&prepare=${prepare}`;
      database = await PostgresLogDatabase.connect(explainedUrl(address, { plan_cache_mode: mode }), { search: true });
      await leaveToTests(schemaOf(database));
      return { database, pool: poolOf(address, mode, prepare), sql: statementsFor(schemaOf(database).slice(1, -1)) };
    };

    it("read by keys, and no more than they return, on empty, filled and analyzed tables", async () => {
      const { database, pool, sql } = await open();
      const s = schemaOf(database);
      const all = new Set<string>();
      try {
        for (const state of ["empty", "filled", "analyzed"]) {
          if (state === "filled") await fill(s);
          if (state === "analyzed") await analyze(s);
          const calls = { ...readsOf(database), ...writesOf(database, state), ...rareCalls(pool, sql, state) };
          for (const [name, call] of Object.entries(calls)) {
            const sent = await statementsDuring(call);
            for (const { text } of sent) all.add(text);
            expect(
              sent.flatMap((one) => faultsOf(one)),
              `${name}, ${state}`,
            ).toEqual([]);
          }
          for (const call of Object.values({ ...surveysOf(database), ...searchesOf(database) })) {
            for (const { text } of await statementsDuring(call)) all.add(text);
          }
        }
      } finally {
        await pool.close();
      }
      expect(Object.entries(sql).filter(([, text]) => !all.has(text))).toEqual([]);
    });
  });

  describe("on full tables", () => {
    const open = async () => {
      database = await PostgresLogDatabase.connect(explainedUrl(freshSchemaUrl(server as NonNullable<typeof server>)), {
        search: true,
      });
      await leaveToTests(schemaOf(database));
      await fill(schemaOf(database));
      return database;
    };

    it("go from one owner or namespace to the next, and read no message to count sessions", async () => {
      const database = await open();
      const s = schemaOf(database);
      for (const state of ["filled", "analyzed"]) {
        if (state === "analyzed") await analyze(s);
        for (const call of Object.values(surveysOf(database))) {
          for (const { plans } of await statementsDuring(call)) {
            for (const plan of plans) expect(rowsRead(plan)).toBeLessThan(2.2 * ALL_SESSIONS);
          }
        }
      }
    });

    it("search the newest messages and then by words, so that neither rare nor common words read all", async () => {
      const database = await open();
      for (const state of ["filled", "analyzed"]) {
        if (state === "analyzed") await query(url, `ANALYZE ${schemaOf(database)}.messages`);
        for (const [name, call] of Object.entries(searchesOf(database))) {
          const sent = await statementsDuring(call);
          expect(
            sent.flatMap((one) => faultsOf(one)),
            `${name}, ${state}`,
          ).toEqual([]);
        }
      }
    });
  });
});

/** The plans of a statement that read too much. */
function faultsOf({ text, plans }: PlannedStatement): readonly string[] {
  if (plans.length === 0) return [`no plan of ${text}`];
  // Its plan has two ways, and the rows tell which one it went.
  const isSearch = text.includes("newest AS");
  const looksAt = isSearch || text.includes("counted") ? MOST_LOOKED_AT : 0;
  return plans
    .filter(
      (plan) =>
        (isUnbounded(plan) && !isSearch) ||
        rowsRead(plan) > MOST_ROWS + looksAt ||
        blocksRead(plan) > MOST_BLOCKS + looksAt,
    )
    .map(summaryOf);
}

/** Only the tests decide when there are statistics. */
async function leaveToTests(s: string): Promise<void> {
  await query(url, ...TABLES.map((table) => `ALTER TABLE ${s}.${table} SET (autovacuum_enabled = off)`));
}

function analyze(s: string): Promise<unknown> {
  return query(url, `ANALYZE ${TABLES.map((table) => `${s}.${table}`).join(", ")}`);
}

/** A long log, many short ones, many sessions in one namespace and in others. The sweep has much to do. */
async function fill(s: string): Promise<void> {
  const body = `'{"parts":[]}' || repeat(' ', 300)`;
  const messages = (uid: string, seqs: string, from = "") => `
    SELECT ${uid}, '.1', q, 'm' || q, ${T0} + q, 1, 320, 'user', 's', NULL, ${body},
      ('text2 ''default common'' ''default w' || q || '''')::tsvector, CASE q % 2 WHEN 0 THEN '${usageText({ model: "m" })}' END,
      CASE q % 2 WHEN 0 THEN '${runningText(NOTHING_USED)}' END
    FROM generate_series(1, ${seqs}) AS q ${from}`;
  const sessions = (uid: string, namespace: string, from: string, deleted = false) => `
    INSERT INTO ${s}.sessions
    SELECT ${deleted ? `${uid} || 'd'` : uid}, ${namespace}, ${uid}, CASE WHEN u % 2 = 0 THEN 'parent' ELSE '' END,
      ${T0} + u, CASE WHEN u % 3 = 0 THEN ${T0} + u END, 1, u % 2, ${deleted}, false, false, u % 5 / 4, u % 5 / 4,
      CASE WHEN ${!deleted} AND u % 7 = 0 THEN u END, 1, ARRAY[${uid} || '.1'],
      ARRAY['all=', 'too=', 'some=' || u % 100], '[]', '{}',
      CASE u % 4 WHEN 0 THEN '' WHEN 1 THEN 'few' || u / 100 ELSE 'o1' END,
      'k' || u / 100, CASE WHEN u % 3 = 0 THEN u END,
      ${deleted ? `${T0} + u, ${T0} + u` : "NULL, NULL"}, 1, ${deleted ? "NULL, NULL" : "u - 10000, u - 10000"}
    FROM ${from}`;
  const attachments = (uid: string, count: number, from: string) => [
    `INSERT INTO ${s}.attachments
      SELECT ${uid}, '.a' || q, 'default', 'a' || q, 'text/plain', '', 5, '', ${T0}, q,
        CASE q % 3 WHEN 0 THEN 'arriving' ELSE 'stored' END, 0
      FROM ${from}, generate_series(1, ${count}) AS q`,
    `INSERT INTO ${s}.attachment_pieces SELECT ${uid}, '.a' || q, 1, 'piece' FROM ${from}, generate_series(1, ${count}) AS q`,
  ];
  await query(
    url,
    `INSERT INTO ${s}.messages ${messages("'u' || u", "25", ", generate_series(1, 200) AS u")}`,
    `INSERT INTO ${s}.messages ${messages(`'${BIG.uid}'`, `${BIG.messages}`)}`,
    `ALTER TABLE ${s}.sessions DISABLE TRIGGER note_changes`,
    sessions("'u' || u", "'default'", `generate_series(1, ${SESSIONS.here}) AS u`),
    sessions("'u' || u", "'default'", `generate_series(1, ${SESSIONS.here}) AS u`, true),
    sessions(`'${BIG.uid}'`, "'default'", "generate_series(1, 1) AS u"),
    sessions(
      "'n' || n || 'u' || u",
      "'n' || n",
      `generate_series(1, ${SESSIONS.namespaces}) AS n, generate_series(1, ${SESSIONS.elsewhere}) AS u`,
    ),
    `ALTER TABLE ${s}.sessions ENABLE TRIGGER note_changes`,
    `INSERT INTO ${s}.departures
      SELECT 'default', u - 10000, 'gone' || u, 's', 'deleted', '', '{}', ${T0} + u
      FROM generate_series(1, ${SESSIONS.here}) AS u`,
    `INSERT INTO ${s}.feed_starts SELECT 'n' || n, n FROM generate_series(1, 1000) AS n`,
    `INSERT INTO ${s}.labels SELECT uid, label, namespace, update_time, session_id, owner
      FROM ${s}.sessions, unnest(labels) AS label WHERE NOT deleted ON CONFLICT DO NOTHING`,
    `INSERT INTO ${s}.listed SELECT uid, namespace, owner, update_time, 'title ' || uid, session_id FROM ${s}.sessions
      WHERE NOT deleted ON CONFLICT DO NOTHING`,
    `INSERT INTO ${s}.title_words SELECT uid, word, namespace
      FROM ${s}.sessions, unnest(ARRAY['title', 'half' || length(uid) % 2, uid]) AS word
      WHERE NOT deleted ON CONFLICT DO NOTHING`,
    ...attachments("'u' || u", 3, `generate_series(1, ${SESSIONS.here}) AS u`),
    ...attachments(`'${BIG.uid}'`, 1000, "generate_series(1, 1) AS u"),
    `INSERT INTO ${s}.attachment_pieces SELECT '${BIG.uid}', '.a1', q, 'piece' FROM generate_series(2, 1000) AS q`,
    `INSERT INTO ${s}.attachment_names
      SELECT uid, log, seq, name, '${BIG.uid}', CASE name WHEN 'shared' THEN '.a1' ELSE '.' || name END
      FROM ${s}.messages, unnest(ARRAY['shared', 'a' || seq]) AS name`,
    `INSERT INTO ${s}.todos SELECT 'n' || n, 1, '[]' FROM generate_series(1, 1000) AS n`,
    `INSERT INTO ${s}.registers (name, revision, body) SELECT 'n' || n, 1, '' FROM generate_series(1, 1000) AS n`,
  );
}

function poolOf(address: string, mode: string, prepare: boolean): PostgresPool {
  const driverUrl = new URL(explainedUrl(address, { plan_cache_mode: mode }));
  for (const ours of ["schema", "connections", "prepare"]) driverUrl.searchParams.delete(ours);
  return new PostgresPool(driverUrl.href, { connections: 1, prepare, timeoutMs: 30_000 });
}

/** What only follows outcomes that are not known. */
function rareCalls(pool: PostgresPool, sql: Statements, uid: string): Readonly<Record<string, () => Promise<unknown>>> {
  const run = (text: string, ...values: Value[]) => pool.run(text, values, undefined);
  const fields = (deleted: boolean, write: number) => {
    const known = { session_id: uid, parent_id: "", deleted, restoring: false, write, logs: [], labels: ["all="] };
    const rest = { segments: "[]", body: JSON.stringify(record(uid)) };
    return RECORD_FIELDS.map((field) => ({ ...known, ...rest })[field as keyof typeof known] ?? 0);
  };
  return {
    "who wrote a message": () => run(sql.writeAt, BIG.uid, ".1", 9999, "default"),
    "who wrote a record": () => run(sql.writeOf, BIG.uid, "default"),
    "a blocked uid": () => run(sql.block, `${uid}-blocked`, "default", ...fields(true, 5)),
    "a record in the place of a blocked one": () =>
      run(sql.unblock, `${uid}-blocked`, "default", 5, ...fields(false, 6), 0, T0, "title", ["title"]),
  };
}
