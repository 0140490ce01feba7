import { quoted } from "./postgres-url.js";
import { ENTRY, RECORD, RECORD_FIELDS } from "./rows.js";

/** How many sessions with a label are counted to tell which of several labels is the rarest. */
const MOST_COUNTED = 1000;

/** How many of the newest entries a search looks through before it asks the index of words. */
const MOST_NEWEST = 1000;

export type Statements = ReturnType<typeof statementsFor>;

/**
 * Every statement, with the schema of the tables. Each is a transaction of its own at READ COMMITTED. A write of a
 * session locks the row of its record first, then rows of labels, then rows of messages in the order of their key, so
 * no two writes wait for each other.
 */
export function statementsFor(schema: string) {
  const s = quoted(schema);
  return { ...entryStatements(s), ...recordStatements(s), ...listStatements(s), ...otherStatements(s) };
}

function entryStatements(s: string) {
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
    overwrite: `SELECT ${s}.overwrite_1($1, $2, $3, $4, $5, $6, $7)`,
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

function recordStatements(s: string) {
  const sessions = `${s}.sessions AS s`;
  return {
    create: `WITH new AS (
        INSERT INTO ${s}.sessions (uid, namespace, forks, blocked, ${RECORD_FIELDS.join(", ")})
          VALUES ($1, $2, 0, false, ${fieldsFrom(3)}) ON CONFLICT DO NOTHING
          RETURNING uid, namespace, update_time, session_id, labels
      ), ${labelsOf(s, "new", 3)}
      SELECT count(*) FROM new`,
    /** Waits for a first send that is still under way, and for the standbys that it may not have waited for. */
    block: `INSERT INTO ${s}.sessions (uid, namespace, forks, blocked, ${RECORD_FIELDS.join(", ")})
        VALUES ($1, $2, 0, true, ${fieldsFrom(3)})
        ON CONFLICT (uid) DO UPDATE SET write = sessions.write
        RETURNING blocked, write`,
    unblock: `WITH new AS (
        UPDATE ${sessions} SET ${settingsFrom(4)}, blocked = false
          WHERE s.uid = $1 AND s.namespace = $2 AND s.blocked AND s.write = $3
          RETURNING s.uid, s.namespace, s.update_time, s.session_id, s.labels
      ), ${labelsOf(s, "new", 4)}
      SELECT count(*) FROM new`,
    byUid: `SELECT ${RECORD} FROM ${sessions} WHERE s.uid = $1 AND s.namespace = $2 AND NOT s.blocked`,
    byId: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.session_id = $2 AND NOT s.deleted`,
    /** Waits like `writeAt`. */
    writeOf: `UPDATE ${sessions} SET write = write WHERE s.uid = $1 AND s.namespace = $2 AND NOT s.blocked
      RETURNING s.write, ${RECORD}`,
    newest: `SELECT n.kind, n.uid, n.log, n.seq, n.id, n.time, n.role, n.session_id, n.origin, n.body,
        ${RECORD.split(", ")
          .map((column) => `CASE WHEN n.kind = 0 THEN ${column} END`)
          .join(", ")}
      FROM ${sessions}
        CROSS JOIN LATERAL ${s}.newest_1(s.uid, substr(s.logs[1], length(s.uid) + 1), s.segments, $3, $4) AS n
      WHERE s.namespace = $1 AND s.session_id = $2 AND NOT s.deleted`,
    raiseForks: `UPDATE ${sessions} SET forks = forks + 1
      WHERE s.namespace = $1 AND s.session_id = $2 AND NOT s.deleted RETURNING ${RECORD}`,
    addFork: `UPDATE ${sessions} SET forks = forks + $3 WHERE s.uid = $1 AND s.namespace = $2 AND NOT s.blocked
      RETURNING s.forks`,
    replace: replacement(s, "s.revision = $3 AND NOT s.blocked"),
    /** The revision is the next one, whatever the record says. */
    publish: replacement(s, "s.restoring", "CASE WHEN $3::bigint IS NULL THEN s.revision + 1 ELSE $8 END"),
    deleteRecord: `DELETE FROM ${sessions} WHERE s.uid = $1 AND s.namespace = $2 AND s.deleted AND NOT s.blocked
      RETURNING s.uid`,
  };
}

function listStatements(s: string) {
  const sessions = `${s}.sessions AS s`;
  const living = `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND NOT s.deleted`;
  return {
    newestFirst: list(s, ""),
    children: list(s, "AND s.parent_id = $5 AND s.parent_id <> ''"),
    labeled: labeled(s, "$6::text"),
    /** Follows the rarest of the labels. Of each, it counts no more than would make a page slow. */
    labeledAll: labeled(
      s,
      `(
        SELECT o.label FROM unnest($6::text[]) AS o(label) ORDER BY (
          SELECT count(*) FROM (
            SELECT 1 FROM ${s}.labels AS x WHERE x.namespace = $1 AND x.label = o.label
              ORDER BY x.update_time DESC, x.session_id DESC LIMIT (SELECT ${MOST_COUNTED})
          ) AS counted
        ) LIMIT 1
      )`,
      `AND (SELECT count(*) FROM ${s}.labels AS x WHERE x.uid = l.uid AND x.label = ANY ($6)) = cardinality($6)`,
    ),
    sweepable: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.forks = 0 AND s.sweep_time <= $2
      ORDER BY s.sweep_time ${limit("$3")}`,
    drafting: `${living} AND s.drafts > 0 AND s.uid > $2 ORDER BY s.uid ${limit("$3")}`,
    expired: `(${living} AND s.expire_time <= $2 ORDER BY s.expire_time ${limit("$4")})
      UNION ALL
      (${living} AND s.update_time <= $3 AND NOT coalesce(s.expire_time <= $2, false)
        ORDER BY s.update_time ${limit("$4")})
      ${limit("$4")}`,
    scan: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.uid > $2 AND NOT s.blocked
      ORDER BY s.uid ${limit("$3")}`,
  };
}

function otherStatements(s: string) {
  return {
    namespaces: `WITH RECURSIVE ${namespacesOf(s)}
      SELECT name FROM n WHERE name IS NOT NULL UNION SELECT namespace FROM ${s}.todos`,
    readTodos: `SELECT revision, body FROM ${s}.todos WHERE namespace = $1`,
    insertTodos: `INSERT INTO ${s}.todos (namespace, revision, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING
      RETURNING revision`,
    updateTodos: `UPDATE ${s}.todos SET revision = revision + 1, body = $2 WHERE namespace = $1 AND revision = $3
      RETURNING revision`,
    time: `SELECT ${s}.now_micros() / 1000`,
    findWords: search(s, "NULL"),
    findRead: search(s, "m.body"),
    findWordsOwned: searchOwned(s, "NULL"),
    findReadOwned: searchOwned(s, "m.body"),
  };
}

/** From one namespace that has records to the next; the name after the last one is null. */
export function namespacesOf(s: string): string {
  return `n(name) AS (
        (SELECT namespace FROM ${s}.sessions WHERE namespace >= '' ORDER BY namespace LIMIT 1)
        UNION ALL
        SELECT (SELECT o.namespace FROM ${s}.sessions AS o WHERE o.namespace > n.name ORDER BY o.namespace LIMIT 1)
          FROM n WHERE n.name IS NOT NULL
      )`;
}

/**
 * Entries with the words of a query before a place, the newest first. A word that many entries have is among the newest
 * ones, which are looked through first. If those have too few, the index of words is asked, which costs the more the
 * more entries have them. OFFSET keeps the planner from the index of times there: how many entries have a rare word is
 * beyond its statistics, and it would look through all of them for one.
 */
function search(s: string, body: string): string {
  return `WITH newest AS MATERIALIZED (
      SELECT m.uid, m.log, m.seq, m.timestamp, m.words FROM ${s}.messages AS m WHERE m.words IS NOT NULL AND ${BEFORE}
        ORDER BY ${NEWEST_FIRST} LIMIT (SELECT ${MOST_NEWEST})
    ), near AS MATERIALIZED (
      SELECT m.uid, m.log, m.seq FROM newest AS m WHERE m.words @@ $1::tsquery ORDER BY ${NEWEST_FIRST} LIMIT $6
    ), found AS (
      SELECT uid, log, seq FROM near WHERE (SELECT count(*) FROM near) >= $6
      UNION ALL
      (SELECT m.uid, m.log, m.seq FROM (${matches(s, "(SELECT count(*) FROM near) < $6")}) AS m
        ORDER BY ${NEWEST_FIRST} LIMIT $6)
    )
    SELECT m.uid, m.log, m.seq, m.timestamp, coalesce(m.origin, m.session_id), ${body}
    FROM found AS f CROSS JOIN LATERAL (
      SELECT m.* FROM ${s}.messages AS m WHERE m.uid = f.uid AND m.log = f.log AND m.seq = f.seq OFFSET 0
    ) AS m
    ORDER BY ${NEWEST_FIRST}`;
}

/** The same in the logs of some owners. */
function searchOwned(s: string, body: string): string {
  return `SELECT m.uid, m.log, m.seq, m.timestamp, coalesce(m.origin, m.session_id), ${body}
    FROM (${matches(s, "m.uid = ANY ($7::text[])")}) AS m ORDER BY ${NEWEST_FIRST} LIMIT $6`;
}

const BEFORE = "(m.timestamp, m.uid, m.log, m.seq) < ($2::bigint, $3, $4, $5::bigint)";
const NEWEST_FIRST = "m.timestamp DESC, m.uid DESC, m.log DESC, m.seq DESC";

function matches(s: string, condition: string): string {
  return `SELECT m.* FROM ${s}.messages AS m WHERE ${condition} AND m.words @@ $1::tsquery AND ${BEFORE} OFFSET 0`;
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

function fieldsFrom(first: number): string {
  return RECORD_FIELDS.map((_, i) => `$${first + i}`).join(", ");
}

/** The update time of a living record never goes back. */
function settingsFrom(first: number, revision?: string): string {
  return RECORD_FIELDS.map((field, i) => {
    const value = `$${first + i}`;
    if (field === "revision" && revision !== undefined) return `revision = ${revision}`;
    if (field !== "update_time") return `${field} = ${value}`;
    return `update_time = CASE WHEN s.deleted THEN ${value}::bigint ELSE greatest(s.update_time, ${value}::bigint) END`;
  }).join(", ");
}

/** Adds the rows of the labels of a record that had none. */
function labelsOf(s: string, record: string, first: number): string {
  const labels = `$${first + RECORD_FIELDS.indexOf("labels")}::text[]`;
  return `labeled AS (
        INSERT INTO ${s}.labels (uid, label, namespace, update_time, session_id)
          SELECT r.uid, l.label, r.namespace, r.update_time, r.session_id FROM ${record} AS r, unnest(${labels}) AS l(label)
      )`;
}

/** Replaces a record and its labels. */
function replacement(s: string, condition: string, revision?: string): string {
  const labels = `$${4 + RECORD_FIELDS.indexOf("labels")}::text[]`;
  return `WITH changed AS (
      UPDATE ${s}.sessions AS s SET ${settingsFrom(4, revision)}
        WHERE s.uid = $1 AND s.namespace = $2 AND ${condition} RETURNING s.*
    ), dropped AS (
      DELETE FROM ${s}.labels AS l USING changed AS c WHERE l.uid = c.uid AND NOT l.label = ANY (${labels})
    ), added AS (
      INSERT INTO ${s}.labels (uid, label, namespace, update_time, session_id)
        SELECT c.uid, l.label, c.namespace, c.update_time, c.session_id
        FROM changed AS c, unnest(${labels}) AS l(label)
        ON CONFLICT ON CONSTRAINT labels_by_uid
          DO UPDATE SET update_time = excluded.update_time, session_id = excluded.session_id
    )
    SELECT ${RECORD} FROM changed AS s`;
}

/** Sessions after the place $2 and $3, the most recently updated first. */
function list(s: string, condition: string): string {
  return `SELECT ${RECORD} FROM ${s}.sessions AS s
    WHERE s.namespace = $1 ${condition} AND NOT s.deleted AND (s.update_time, s.session_id) < ($2::bigint, $3::text)
    ORDER BY s.update_time DESC, s.session_id DESC ${limit("$4")}`;
}

/** The same by the places of one label. Because of OFFSET, the session of each place is looked up by its key. */
function labeled(s: string, label: string, condition = ""): string {
  return `SELECT ${RECORD} FROM ${s}.labels AS l CROSS JOIN LATERAL (
      SELECT s.* FROM ${s}.sessions AS s
        WHERE s.uid = l.uid AND NOT s.deleted AND ($5 = '' OR s.parent_id = $5) ${condition} OFFSET 0
    ) AS s
    WHERE l.namespace = $1 AND l.label = ${label} AND (l.update_time, l.session_id) < ($2::bigint, $3::text)
    ORDER BY l.update_time DESC, l.session_id DESC ${limit("$4")}`;
}

/**
 * A limit that the planner does not know. It then prefers plans that return their first rows early, so it follows an
 * index in its order. With a known limit and no statistics, it expects fewer rows than that, and reads and sorts all.
 */
function limit(parameter: string): string {
  return `LIMIT (SELECT ${parameter}::bigint)`;
}
