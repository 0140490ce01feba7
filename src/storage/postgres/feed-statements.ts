import { RECORD } from "./rows.js";

/**
 * Transactions before this one have ended, so that nothing that they have written becomes visible any more.
 *
 * Rule: read-before-open.
 */
const OLDEST_RUNNING = "txid_snapshot_xmin(txid_current_snapshot())";

/**
 * The statements of the feed. A change is visible to readers only once no earlier transaction runs any more, because
 * transactions do not end in the order in which they begin. A cursor is a place and a key within it.
 */
export function feedStatements(s: string) {
  const ends = `SELECT ${s}.feed_id_1() AS feed_id,
      coalesce((SELECT f.first FROM ${s}.feed_starts AS f WHERE f.namespace = $1), 0) AS first,
      ${OLDEST_RUNNING} AS oldest, ${s}.now_micros() / 1000 AS now`;
  const after = (alias: string, kind: string) => `${alias}.namespace = $1 AND ${alias}.place >= $2
      AND (${alias}.place > $2 OR '${kind}' || ${alias}.uid > $3) AND ${alias}.place < (SELECT oldest FROM ends)`;
  const living = "NOT s.deleted AND s.place IS NOT NULL";
  /** The last place decides. A search for later ones would read the whole table once that has statistics. */
  const behind = (table: string, condition: string) => `coalesce((
        SELECT s.place FROM ${s}.${table} AS s WHERE s.namespace = $1 AND ${condition}
          ORDER BY s.place DESC LIMIT (SELECT 1::bigint)
      ) >= e.oldest, false)`;
  return {
    feedEnds: ends,
    /** First a row about the feed, then the changes in their order. */
    readFeed: `WITH ends AS MATERIALIZED (${ends})
      SELECT e.feed_id, e.first, e.oldest, e.now, ${behind("sessions", living)} OR ${behind("departures", "true")},
          NULL::text, NULL::bigint, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text[], NULL::bigint,
          NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::text
        FROM ends AS e
      UNION ALL
      (SELECT NULL, NULL, NULL, NULL, NULL, c.* FROM (
        (SELECT d.kind, d.place, '0' || d.uid AS key, d.uid, d.session_id, d.owner AS past_owner, d.labels AS past_labels,
            NULL::bigint, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::text
          FROM ${s}.departures AS d WHERE ${after("d", "0")} ORDER BY d.place, d.uid LIMIT $4)
        UNION ALL
        (SELECT 'state', s.place, '1' || s.uid, s.uid, s.session_id, NULL, NULL, s.made_at, ${RECORD}
          FROM ${s}.sessions AS s WHERE ${living} AND ${after("s", "1")} ORDER BY s.place, s.uid LIMIT $4)
      ) AS c(kind, place, key) ORDER BY c.place, c.key LIMIT $4)`,
    changedSince: `SELECT s.place, s.made_at, ${RECORD} FROM ${s}.sessions AS s
      WHERE s.namespace = $1 AND NOT s.deleted AND s.update_time >= $2 AND s.place IS NOT NULL`,
    newestTransaction: "SELECT txid_snapshot_xmax(txid_current_snapshot())",
    oldestTransaction: `SELECT ${OLDEST_RUNNING}`,
    /**
     * Removes about $3 rows, those of one moment together. It removes what a range of the index of times has: a planner
     * without statistics would look for single rows among all of the namespace.
     */
    pruneFeed: `WITH gone AS (
        DELETE FROM ${s}.departures AS d WHERE d.namespace = $1 AND d.at < $2 AND d.at <= (
          SELECT max(o.at) FROM (
            SELECT o.at FROM ${s}.departures AS o WHERE o.namespace = $1 AND o.at < $2 ORDER BY o.at LIMIT $3
          ) AS o
        ) RETURNING d.place
      ), raised AS (
        INSERT INTO ${s}.feed_starts AS f (namespace, first)
          SELECT $1, max(g.place) FROM gone AS g HAVING count(*) > 0
          ON CONFLICT (namespace) DO UPDATE SET first = greatest(f.first, excluded.first)
      )
      SELECT count(*) FROM gone`,
  };
}
