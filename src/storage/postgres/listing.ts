import type { NextRecord } from "../history/log-store.js";
import type { PostgresPool } from "./postgres-pool.js";
import { listingValues } from "./rows.js";
import type { Row } from "./values.js";

/** How many sessions are listed in one transaction. */
const AT_ONCE = 1000;

/**
 * Lists the sessions of an earlier version, some at a time, until none is missing. Processes that start together take
 * turns. None serves before all sessions are listed, so no session changes meanwhile.
 */
export async function listSessions(pool: PostgresPool, s: string): Promise<void> {
  const [missing] = await pool.run(`SELECT 1 FROM ${s}.listing`, [], undefined, false);
  if (missing === undefined) return;
  await pool.withClient(async (client) => {
    const query = async (text: string, values: readonly unknown[] = []) =>
      (await client.query({ text, values: [...values], rowMode: "array" })).rows as unknown as Row[];
    for (let isDone = false; !isDone; ) {
      await query("BEGIN");
      const [place] = await query(`SELECT after_uid FROM ${s}.listing FOR UPDATE`);
      const rows = place === undefined ? [] : await query(nextSql(s), [place[0], AT_ONCE]);
      if (rows.length > 0) await query(listSql(s), columnsOf(rows));
      isDone = rows.length < AT_ONCE;
      if (isDone) await query(`DELETE FROM ${s}.listing`);
      else await query(`UPDATE ${s}.listing SET after_uid = $1`, [rows.at(-1)?.[0]]);
      await query("COMMIT");
    }
  });
}

function nextSql(s: string): string {
  return `SELECT uid, body FROM ${s}.sessions WHERE uid > $1 AND NOT deleted ORDER BY uid LIMIT (SELECT $2::bigint)`;
}

/** The words come as JSON texts, because arrays of arrays have rows of one length. */
function listSql(s: string): string {
  return `WITH given AS MATERIALIZED (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS g(uid, create_time, title_key, words)
    ), listing AS (
      INSERT INTO ${s}.listed (uid, namespace, owner, create_time, title_key, session_id)
        SELECT r.uid, r.namespace, r.owner, g.create_time, g.title_key, r.session_id
        FROM given AS g JOIN ${s}.sessions AS r ON r.uid = g.uid ON CONFLICT DO NOTHING
    )
    INSERT INTO ${s}.title_words (uid, word, namespace)
      SELECT r.uid, w.word, r.namespace FROM given AS g JOIN ${s}.sessions AS r ON r.uid = g.uid
        CROSS JOIN LATERAL json_array_elements_text(g.words::json) AS w(word) ON CONFLICT DO NOTHING`;
}

function columnsOf(rows: readonly Row[]): readonly unknown[] {
  const listings = rows.map(([, body]) =>
    listingValues({ ...(JSON.parse(body as string) as NextRecord), deleted: false }),
  );
  const words = listings.map(([, , found]) => JSON.stringify(found));
  return [rows.map(([uid]) => uid), listings.map(([time]) => time), listings.map(([, key]) => key), words];
}
