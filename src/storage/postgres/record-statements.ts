import { RECORD, RECORD_FIELDS } from "./rows.js";

/** The statements about single records. */
export function recordStatements(s: string) {
  const sessions = `${s}.sessions AS s`;
  return {
    create: `WITH new AS (
        INSERT INTO ${s}.sessions (uid, namespace, forks, blocked, ${RECORD_FIELDS.join(", ")}, bytes)
          VALUES ($1, $2, 0, false, ${fieldsFrom(3)}, ${BYTES(3)}) ON CONFLICT DO NOTHING
          RETURNING uid, namespace, owner, update_time, session_id, labels, deleted
      ), ${labelsOf(s, "new", 3)}, ${listingOf(s, 4 + RECORD_FIELDS.length)}
      SELECT count(*) FROM new`,
    /** Waits for a first send that is still under way, and for the standbys that it may not have waited for. */
    block: `INSERT INTO ${s}.sessions (uid, namespace, forks, blocked, ${RECORD_FIELDS.join(", ")})
        VALUES ($1, $2, 0, true, ${fieldsFrom(3)})
        ON CONFLICT (uid) DO UPDATE SET write = sessions.write
        RETURNING blocked, write`,
    unblock: `WITH new AS (
        UPDATE ${sessions} SET ${settingsFrom(4)}, bytes = ${BYTES(4)}, blocked = false
          WHERE s.uid = $1 AND s.namespace = $2 AND s.blocked AND s.write = $3
          RETURNING s.uid, s.namespace, s.owner, s.update_time, s.session_id, s.labels, s.deleted
      ), ${labelsOf(s, "new", 4)}, ${listingOf(s, 5 + RECORD_FIELDS.length)}
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
    countBytes: `SELECT ${s}.count_bytes_1($1, $2, $3, $4)`,
    usage: usage(s, ""),
    usageOfOwner: usage(s, "AND s.owner = $2"),
    usageOfKey: `SELECT count(*), count(s.bytes), coalesce(sum(s.bytes), 0)::bigint FROM ${sessions}
      WHERE s.namespace = $1 AND s.creator_key = $2 AND NOT s.deleted`,
    addFork: `UPDATE ${sessions} SET forks = forks + $3 WHERE s.uid = $1 AND s.namespace = $2 AND NOT s.blocked
      RETURNING s.forks`,
    replace: replacement(s, "s.revision = $3 AND NOT s.blocked"),
    /** The revision is the next one, whatever the record says. */
    publish: replacement(
      s,
      "s.restoring",
      `CASE WHEN $3::bigint IS NULL THEN s.revision + 1 ELSE $${4 + RECORD_FIELDS.indexOf("revision")} END`,
    ),
    deleteRecord: `DELETE FROM ${sessions} WHERE s.uid = $1 AND s.namespace = $2 AND s.deleted AND NOT s.blocked
      RETURNING s.uid`,
  };
}

/** The bytes of a new record, which follow its fields. */
const BYTES = (first: number) => `$${first + RECORD_FIELDS.length}::bigint`;

/** Two indexes hold what this reads; without quotas of bytes, the second one is empty. */
function usage(s: string, condition: string): string {
  const living = `${s}.sessions AS s WHERE s.namespace = $1 ${condition} AND NOT s.deleted`;
  return `SELECT (SELECT count(*) FROM ${living}), count(*), coalesce(sum(s.bytes), 0)::bigint
    FROM ${living} AND s.bytes IS NOT NULL`;
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
        INSERT INTO ${s}.labels (uid, label, namespace, owner, update_time, session_id)
          SELECT r.uid, l.label, r.namespace, r.owner, r.update_time, r.session_id
            FROM ${record} AS r, unnest(${labels}) AS l(label)
      )`;
}

/** What `listingValues` says of a record, from the parameter `first`. */
function listingFrom(first: number) {
  return { createTime: `$${first}::bigint`, titleKey: `$${first + 1}::text`, words: `$${first + 2}::text[]` };
}

/** Adds the rows of a new record by which lists find it. */
function listingOf(s: string, first: number): string {
  const { createTime, titleKey, words } = listingFrom(first);
  return `listing AS (
        INSERT INTO ${s}.listed (uid, namespace, owner, create_time, title_key, session_id)
          SELECT r.uid, r.namespace, r.owner, ${createTime}, ${titleKey}, r.session_id FROM new AS r WHERE NOT r.deleted
      ), worded AS (
        INSERT INTO ${s}.title_words (uid, word, namespace)
          SELECT r.uid, w.word, r.namespace FROM new AS r, unnest(${words}) AS w(word)
      )`;
}

/** Brings these rows up to date; most changes of a record leave them as they are. */
function relisting(s: string, first: number): string {
  const { createTime, titleKey, words } = listingFrom(first);
  return `unlisted AS (
      DELETE FROM ${s}.listed AS l USING changed AS c WHERE l.uid = c.uid AND c.deleted
    ), listing AS (
      INSERT INTO ${s}.listed (uid, namespace, owner, create_time, title_key, session_id)
        SELECT c.uid, c.namespace, c.owner, ${createTime}, ${titleKey}, c.session_id FROM changed AS c
        WHERE NOT c.deleted AND NOT EXISTS (
          SELECT 1 FROM ${s}.listed AS l WHERE l.uid = c.uid AND l.owner = c.owner AND l.create_time = ${createTime}
            AND l.title_key = ${titleKey} AND l.session_id = c.session_id
        )
        ON CONFLICT ON CONSTRAINT listed_by_uid DO UPDATE SET owner = excluded.owner,
          create_time = excluded.create_time, title_key = excluded.title_key, session_id = excluded.session_id
    ), unworded AS (
      DELETE FROM ${s}.title_words AS w USING changed AS c WHERE w.uid = c.uid AND NOT w.word = ANY (${words})
    ), worded AS (
      INSERT INTO ${s}.title_words (uid, word, namespace)
        SELECT c.uid, w.word, c.namespace FROM changed AS c, unnest(${words}) AS w(word)
        ON CONFLICT ON CONSTRAINT title_words_by_uid DO NOTHING
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
      INSERT INTO ${s}.labels (uid, label, namespace, owner, update_time, session_id)
        SELECT c.uid, l.label, c.namespace, c.owner, c.update_time, c.session_id
        FROM changed AS c, unnest(${labels}) AS l(label)
        ON CONFLICT ON CONSTRAINT labels_by_uid DO UPDATE
          SET owner = excluded.owner, update_time = excluded.update_time, session_id = excluded.session_id
    ), ${relisting(s, 4 + RECORD_FIELDS.length)}
    SELECT ${RECORD} FROM changed AS s`;
}
