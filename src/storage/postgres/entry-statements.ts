import { ENTRY } from "./rows.js";

/** The statements about entries of logs. */
export function entryStatements(s: string) {
  const messages = `${s}.messages AS m`;
  return {
    appendOne: `SELECT ${s}.append_one_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    appendGroup: `SELECT ${s}.append_group_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    appendMany: `SELECT ${s}.append_many_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    seal: `SELECT ${s}.seal_1($1, $2, $3, $4)`,
    /** Its own write waits for the standbys that the write which it looks for may not have waited for. */
    writeAt: `WITH confirmed AS (UPDATE ${s}.sessions SET write = write WHERE uid = $1 AND namespace = $4)
      SELECT m.write FROM ${messages} WHERE m.uid = $1 AND m.log = $2 AND m.seq = $3`,
    tail: `SELECT EXISTS (SELECT 1 FROM ${s}.sessions WHERE uid = $1 AND namespace = $3 AND $1 || $2 = ANY (logs)),
        e.seq, e.id, e.timestamp
      FROM (VALUES (1)) AS one LEFT JOIN LATERAL (
        SELECT m.seq, m.id, m.timestamp FROM ${messages} WHERE m.uid = $1 AND m.log = $2 ORDER BY m.seq DESC LIMIT 2
      ) AS e ON true ORDER BY e.seq DESC`,
    rangeUp: range(messages, "ASC"),
    rangeDown: range(messages, "DESC"),
    readLast: `SELECT l.i, ${ENTRY} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS l(uid, log, i),
      LATERAL (
        SELECT * FROM (
          SELECT m.* FROM ${messages} WHERE m.uid = l.uid AND m.log = l.log ORDER BY m.seq DESC LIMIT 2
        ) AS two WHERE two.id IS NOT NULL ORDER BY two.seq DESC LIMIT 1
      ) AS m`,
    /** A binary search. It answers nothing when an entry that would decide it is missing. */
    seqAtTime: `WITH RECURSIVE s(low, high, known) AS (
        SELECT $3::bigint, $4::bigint + 1, true
        UNION ALL
        SELECT CASE WHEN t.time < $5 THEN t.mid + 1 ELSE t.low END, CASE WHEN t.time >= $5 THEN t.mid ELSE t.high END,
          t.time IS NOT NULL
        FROM (
          SELECT low, high, (low + high) / 2 AS mid, (
            SELECT m.timestamp FROM ${messages}
              WHERE m.uid = $1 AND m.log = $2 AND m.seq = (low + high) / 2 AND m.id IS NOT NULL
          ) AS time FROM s WHERE known AND low < high
        ) AS t
      )
      SELECT low FROM s WHERE known AND low = high AND (SELECT bool_and(known) FROM s) LIMIT 1`,
    /** OFFSET 0 makes the planner look for each id by the key of ids: it never joins with other logs or whole logs. */
    findById: `SELECT ${ENTRY} FROM unnest($1::text[], $2::text[]) AS l(uid, log) CROSS JOIN unnest($3::text[]) AS i(id)
      CROSS JOIN LATERAL (
        SELECT m.* FROM ${messages} WHERE m.id = i.id AND m.uid = l.uid AND m.log = l.log OFFSET 0
      ) AS m`,
    findOwned: `SELECT ${ENTRY} FROM unnest($1::text[]) AS u(uid)
      CROSS JOIN LATERAL (SELECT m.* FROM ${messages} WHERE m.id = $2 AND m.uid = u.uid OFFSET 0) AS m`,
    listOwned: `SELECT m.log, m.seq, coalesce(m.origin, m.session_id) FROM ${messages}
      WHERE m.uid = $1 AND (m.log, m.seq) > ($2, $3) AND m.id IS NOT NULL ORDER BY m.log, m.seq LIMIT $4`,
    overwrite: `SELECT ${s}.overwrite_1($1, $2, $3, $4, $5, $6, $7)`,
    bodyBytes: `SELECT coalesce(sum(b.bytes), 0)::bigint
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS r(uid, log, first, last) CROSS JOIN LATERAL (
        SELECT sum(octet_length(m.body)) AS bytes FROM ${messages}
          WHERE m.uid = r.uid AND m.log = r.log AND m.seq BETWEEN r.first AND r.last
      ) AS b`,
    deleteRange: deletion(s, "uid = $1 AND log = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq LIMIT $5"),
    deleteOwned: deletion(s, "uid = $1 ORDER BY log, seq LIMIT $2"),
    /** From one owner to the next, at most $2 of them after $1. */
    owners: `WITH RECURSIVE o(uid, i) AS (
        (SELECT m.uid, 1 FROM ${messages} WHERE m.uid > $1 ORDER BY m.uid LIMIT 1)
        UNION ALL
        SELECT (SELECT m.uid FROM ${messages} WHERE m.uid > o.uid ORDER BY m.uid LIMIT 1), o.i + 1
          FROM o WHERE o.uid IS NOT NULL AND o.i < $2
      )
      SELECT uid, (SELECT true FROM ${s}.sessions AS s WHERE s.uid = o.uid) FROM o WHERE uid IS NOT NULL`,
  };
}

/**
 * The rows from the near end on, and one more where bytes end the read: it has no body. The sums stay among the places
 * that the range has.
 */
function range(messages: string, order: "ASC" | "DESC"): string {
  return `SELECT m.uid, m.log, m.seq, m.id, m.timestamp, m.role, m.session_id, m.origin,
      CASE WHEN m.total <= $6 OR m.number = 1 THEN m.body END
    FROM (
      SELECT m.*, sum(m.size) OVER (ORDER BY m.seq ${order} ROWS UNBOUNDED PRECEDING) AS total,
        row_number() OVER (ORDER BY m.seq ${order}) AS number
      FROM ${messages} WHERE m.uid = $1 AND m.log = $2 AND m.seq BETWEEN $3 AND $4 AND m.id IS NOT NULL
      ORDER BY m.seq ${order} LIMIT $5
    ) AS m
    WHERE m.total - m.size <= $6 OR m.number <= 2 ORDER BY m.seq ${order}`;
}

/**
 * The rows are found once, in a part of their own. Joined in place, they might be found anew for each row of a table.
 */
function deletion(s: string, condition: string): string {
  return `WITH k AS MATERIALIZED (
      SELECT uid, log, seq FROM ${s}.messages WHERE ${condition} FOR UPDATE
    ), deleted AS (
      DELETE FROM ${s}.messages AS m USING k
        WHERE m.uid = k.uid AND m.log = k.log AND m.seq = k.seq RETURNING 1
    )
    SELECT count(*) FROM deleted`;
}
