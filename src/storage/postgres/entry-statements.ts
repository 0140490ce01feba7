import { ENTRY } from "./rows.js";

/** Ranges of logs, numbered from 1. */
const RANGES =
  "unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS r(uid, log, first, last, i)";

/** The entries with usage in a range. */
function usedIn(messages: string): string {
  return `FROM ${messages}
          WHERE m.uid = r.uid AND m.log = r.log AND m.seq BETWEEN r.first AND r.last AND m.usage IS NOT NULL`;
}

/** The statements about entries of logs. */
export function entryStatements(s: string) {
  const messages = `${s}.messages AS m`;
  return {
    appendOne: `SELECT ${s}.append_one_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    appendGroup: `SELECT ${s}.append_group_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    appendMany: `SELECT ${s}.append_many_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
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
    usageRows: `SELECT r.i, m.seq, m.timestamp, coalesce(m.origin, m.session_id), m.usage FROM ${RANGES}
      CROSS JOIN LATERAL (
        SELECT m.seq, m.timestamp, m.session_id, m.origin, m.usage ${usedIn(messages)} ORDER BY m.seq LIMIT $5
      ) AS m ORDER BY r.i, m.seq LIMIT $5`,
    usageEnds: `SELECT r.i, f.seq, f.timestamp, coalesce(f.origin, f.session_id), f.usage, f.session_id, f.usage_sums,
        l.usage_sums
      FROM ${RANGES} CROSS JOIN LATERAL (
        SELECT m.seq, m.timestamp, m.session_id, m.origin, m.usage, m.usage_sums ${usedIn(messages)}
          ORDER BY m.seq LIMIT 1
      ) AS f CROSS JOIN LATERAL (
        SELECT m.usage_sums ${usedIn(messages)} ORDER BY m.seq DESC LIMIT 1
      ) AS l`,
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
    overwrite: `SELECT ${s}.overwrite_3($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    bodyBytes: `SELECT coalesce(sum(b.bytes), 0)::bigint
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS r(uid, log, first, last) CROSS JOIN LATERAL (
        SELECT sum(octet_length(m.body)) AS bytes FROM ${messages}
          WHERE m.uid = r.uid AND m.log = r.log AND m.seq BETWEEN r.first AND r.last
        UNION ALL
        SELECT sum(octet_length(p.bytes)) FROM ${s}.attachment_pieces AS p
          WHERE p.uid = r.uid AND p.log = r.log AND p.seq BETWEEN r.first AND r.last
      ) AS b`,
    deleteRange: deletion(s, "uid = $1 AND log = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq LIMIT $5"),
    deleteOwned: deletion(s, "uid = $1 ORDER BY log, seq LIMIT $2", "uid = $1 ORDER BY log LIMIT $2"),
    /** From one owner to the next, at most $2 of them after $1. */
    owners: `WITH RECURSIVE o(uid, i) AS (
        (SELECT ${nextOwner(s, "$1")}, 1)
        UNION ALL
        SELECT ${nextOwner(s, "o.uid")}, o.i + 1 FROM o WHERE o.uid IS NOT NULL AND o.i < $2
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

/** The first uid after one that has entries or anything of attachments. */
function nextOwner(s: string, uid: string): string {
  const tables = ["messages", "attachments", "attachment_pieces"];
  const firsts = tables.map(
    (table) => `(SELECT t.uid FROM ${s}.${table} AS t WHERE t.uid > ${uid} ORDER BY t.uid LIMIT 1)`,
  );
  return `least(${firsts.join(", ")})`;
}

/**
 * Deletes entries with what they name, pieces and, by a condition of their own, attachments; of each at most as many as
 * the conditions say. Returns the largest of the counts. The rows are found once, in parts of their own. Joined in
 * place, they might be found anew for each row of a table.
 */
function deletion(s: string, places: string, attachments?: string): string {
  const byPlace = "t.uid = k.uid AND t.log = k.log AND t.seq = k.seq";
  const part = (
    name: string,
    table: string,
    key: string,
    condition: string,
    byKey: string,
  ) => `${name} AS MATERIALIZED (
      SELECT ${key} FROM ${s}.${table} WHERE ${condition} FOR UPDATE
    ), no_${name} AS (
      DELETE FROM ${s}.${table} AS t USING ${name} AS k WHERE ${byKey} RETURNING 1
    )`;
  const parts = [
    part("entries", "messages", "uid, log, seq", places, byPlace),
    part("pieces", "attachment_pieces", "uid, log, seq", places, byPlace),
  ];
  const counts = ["(SELECT count(*) FROM no_entries)", "(SELECT count(*) FROM no_pieces)"];
  if (attachments !== undefined) {
    parts.push(part("rows", "attachments", "uid, log", attachments, "t.uid = k.uid AND t.log = k.log"));
    counts.push("(SELECT count(*) FROM no_rows)");
  }
  return `WITH ${parts.join(", ")}, unnamed AS (
      DELETE FROM ${s}.attachment_names AS t USING entries AS k WHERE ${byPlace}
    )
    SELECT greatest(${counts.join(", ")})`;
}
