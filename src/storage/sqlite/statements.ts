import type Database from "libsql";
import { ATTACHMENT_SQL, IDS_AT_ONCE } from "./attachment-sql.js";
import { feedSql } from "./feed-sql.js";

/**
 * Texts are read from the driver as bytes, which is several times as fast, and decodes nothing that is only passed on.
 */
const ENTRY = "log, seq, id, timestamp, role, session_id, origin, CAST(body AS BLOB)";
const FIELDS =
  "session_id, parent_id, owner, creator_key, update_time, expire_time, revision, deleted, sweep_at, log, named_logs, drafts, delete_time, purge_time, body";
const RECORD = `uid, forks, ${FIELDS}`;
/** The last column. */
const BODY = ", body";
/** How many columns a record has. */
export const RECORD_COLUMNS = RECORD.split(", ").length;

/** The columns of a record in a join. */
const OF_SESSIONS = RECORD.split(", ")
  .map((field) => `sessions.${field}`)
  .join();
const LABELED = "labels.namespace = ? AND labels.label = ?";
/** The join follows the index of the labels, whose order is the order of the list. */
const OF_LABELED = `${OF_SESSIONS} FROM labels CROSS JOIN sessions ON sessions.uid = labels.uid WHERE ${LABELED}`;
const OF_OWNED_LABELED = `${OF_LABELED} AND labels.owner = ?`;
const AFTER_PLACE = "AND (update_time, session_id) < (?, ?)";
const AFTER_LABEL = "AND (labels.update_time, labels.session_id) < (?, ?)";
const NEWEST_FIRST = "ORDER BY update_time DESC, session_id DESC LIMIT ?";
const NEWEST_LABELED = "ORDER BY labels.update_time DESC, labels.session_id DESC LIMIT ?";
const OWNED = `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND owner = ? AND deleted = 0`;

/** Reads the index alone, so bodies are never touched. */
const OF_USAGE =
  "FROM messages INDEXED BY messages_by_usage WHERE log = ? AND seq BETWEEN ? AND ? AND usage IS NOT NULL";
/**
 * A page of records as a single row, because a row costs the binding as much as the database: JSON with two items for
 * each record, a list of its columns without the body, and the body. They come in the order of the inner statement.
 */
const asPage = (
  select: string,
) => `SELECT CAST('[' || group_concat(json_array(${RECORD.slice(0, -BODY.length)}) || ',' || body) || ']' AS BLOB)
  FROM (${select})`;
const BINNED = `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND delete_time IS NOT NULL`;
const AFTER_DELETED = "AND (delete_time, session_id) < (?, ?)";
const LAST_DELETED = "ORDER BY delete_time DESC, session_id DESC LIMIT ?";

/** The columns of a message in a page. */
const MESSAGE = "json_array(seq, id, timestamp, role, messages.session_id, origin, octet_length(messages.body))";
/** A page of messages, whose columns are given. */
const pageOf = (message: string) => `max(size), '[' || group_concat(${message}) || ']',
    CAST(group_concat(iif(size <= ?4, messages.body, ''), '') AS BLOB)`;

/** Every statement that touches a table; a test asks the planner about each. Rows are returned as arrays. */
export const SQL = {
  /** The last places of a log, each with whether it is the open log of the record. */
  tail: `SELECT seq, id, timestamp, EXISTS (SELECT 1 FROM sessions WHERE uid = ?2 AND namespace = ?3 AND deleted = 0 AND log = ?1)
    FROM messages WHERE log = ?1 ORDER BY seq DESC LIMIT 2`,
  lastPlace: "SELECT iif(id IS NULL, -seq, seq) FROM messages WHERE log = ? ORDER BY seq DESC LIMIT 1",
  /**
   * A single statement, because every append needs both: the update time of the record whose open log this is, and the
   * last place, negative when it is a seal.
   */
  openEnd: `SELECT update_time, (SELECT iif(id IS NULL, -seq, seq) FROM messages WHERE log = sessions.log ORDER BY seq DESC LIMIT 1)
    FROM sessions WHERE uid = ? AND namespace = ? AND deleted = 0 AND log = ?`,
  insertEntry:
    "INSERT INTO messages (log, seq, id, timestamp, role, session_id, origin, size, body, usage, usage_sums) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  deleteRange: "DELETE FROM messages WHERE log = ? AND seq BETWEEN ? AND ?",
  sizesUp: "SELECT size FROM messages WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
  sizesDown: "SELECT size FROM messages WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?",
  /**
   * A page as a single row, because a row costs the binding as much as the database: the size of the largest message,
   * the columns of all messages as JSON, and their bodies one after another as bytes. Bodies are left out when the
   * largest message exceeds the last parameter. The statement scans the primary key, so it meets the rows in that
   * order; the reader checks that.
   */
  readPage: `SELECT ${pageOf(MESSAGE)} FROM messages WHERE log = ?1 AND seq BETWEEN ?2 AND ?3 AND id IS NOT NULL`,
  /**
   * A record, the place of its open log's seal, and the log's last messages as a page. A session with an empty log has
   * one row, because of the join, and an unknown session a row of nulls, because of the aggregates.
   */
  readNewest: `SELECT ${OF_SESSIONS}, max(iif(id IS NULL, seq, NULL)), ${pageOf(`iif(id IS NULL, NULL, ${MESSAGE})`)}
    FROM sessions LEFT JOIN messages ON messages.log = sessions.log AND messages.seq >
      (SELECT seq - (id IS NULL) FROM messages AS ends WHERE ends.log = sessions.log ORDER BY seq DESC LIMIT 1) - ?3
    WHERE namespace = ?1 AND sessions.session_id = ?2 AND deleted = 0`,
  timeAt: "SELECT timestamp FROM messages WHERE log = ? AND seq = ?",
  findOne: `SELECT ${ENTRY} FROM messages INDEXED BY messages_by_id WHERE log = ? AND id = ?`,
  findMany: `SELECT ${ENTRY} FROM messages INDEXED BY messages_by_id WHERE log = ? AND id IN (${Array(IDS_AT_ONCE).fill("?").join()})`,
  /** The next log of an owner. */
  logAfter: "SELECT log FROM messages WHERE log > ? AND log < ? ORDER BY log LIMIT 1",
  /**
   * The usage in many ranges, given as a JSON list of `[log, first, last]`, as a single row for the same reason: JSON
   * with a list for each column, of which the first is the number of the range. The join goes along the ranges, and the
   * index along the places of each; the reader checks that.
   */
  usageRows: `SELECT CAST(concat('[[', group_concat(range), '],[', group_concat(seq), '],[', group_concat(timestamp), '],[',
      group_concat(json_quote(origin)), '],[', group_concat(usage), ']]') AS BLOB)
    FROM (SELECT ranges.key AS range, seq, timestamp, coalesce(origin, session_id) AS origin, usage FROM json_each(?1) AS ranges
    CROSS JOIN messages INDEXED BY messages_by_usage WHERE log = ranges.value ->> 0 AND seq BETWEEN ranges.value ->> 1 AND ranges.value ->> 2 AND usage IS NOT NULL LIMIT ?2)`,
  firstUsage: `SELECT seq, timestamp, origin, session_id, usage, usage_sums ${OF_USAGE} ORDER BY seq LIMIT 1`,
  lastUsage: `SELECT usage_sums ${OF_USAGE} ORDER BY seq DESC LIMIT 1`,
  /** A message without usage stays one. */
  updateBody:
    "UPDATE messages SET size = ?, body = ?, usage = iif(usage IS NULL, NULL, ?) WHERE log = ? AND seq = ? AND id = ?",
  placesOfRange: "SELECT log, seq, size FROM messages WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
  placesOfOwner: "SELECT log, seq, size FROM messages WHERE log >= ? AND log < ? ORDER BY log, seq LIMIT ?",
  /** Reads no body: SQLite knows the length of each. */
  bodyBytes: "SELECT coalesce(sum(octet_length(body)), 0) FROM messages WHERE log = ? AND seq BETWEEN ? AND ?",
  entriesOfOwner: `SELECT log, seq, session_id, origin FROM messages
    WHERE (log, seq) > (?, ?) AND log < ? AND id IS NOT NULL ORDER BY log, seq LIMIT ?`,
  nextLog: "SELECT log FROM messages WHERE log >= ? ORDER BY log LIMIT 1",

  insertRecord: `INSERT INTO sessions (uid, namespace, forks, bytes, place, made_at, ${FIELDS}) VALUES (?1, ?2, 0, ?3, ?4, ?4, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  logsOfRecord: "SELECT update_time, deleted, log, named_logs, drafts FROM sessions WHERE uid = ? AND namespace = ?",
  ownerExists: "SELECT 1 FROM sessions WHERE uid = ?",
  recordByUid: `SELECT ${RECORD} FROM sessions WHERE uid = ? AND namespace = ?`,
  recordById: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND session_id = ? AND deleted = 0`,
  updateRecord: `UPDATE sessions SET (${FIELDS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE uid = ?`,
  addBytes: "UPDATE sessions SET bytes = max(0, bytes + ?) WHERE uid = ? AND namespace = ? AND bytes IS NOT NULL",
  setBytes: "UPDATE sessions SET bytes = ? WHERE uid = ? AND namespace = ?",
  usage: `SELECT (SELECT count(*) FROM sessions INDEXED BY sessions_by_time WHERE namespace = ?1 AND deleted = 0), count(*),
    coalesce(sum(bytes), 0) FROM sessions INDEXED BY sessions_by_bytes WHERE namespace = ?1 AND deleted = 0 AND bytes IS NOT NULL`,
  usageOfOwner: `SELECT (SELECT count(*) FROM sessions INDEXED BY sessions_by_owner WHERE namespace = ?1 AND owner = ?2 AND deleted = 0),
    count(*), coalesce(sum(bytes), 0)
    FROM sessions INDEXED BY sessions_by_bytes WHERE namespace = ?1 AND owner = ?2 AND deleted = 0 AND bytes IS NOT NULL`,
  usageOfKey: `SELECT count(*), count(bytes), coalesce(sum(bytes), 0)
    FROM sessions INDEXED BY sessions_by_key WHERE namespace = ? AND creator_key = ? AND deleted = 0`,
  addFork: "UPDATE sessions SET forks = forks + ? WHERE uid = ?",
  touch: `UPDATE sessions SET update_time = max(update_time, ?1), place = ?2
    WHERE uid = ?3 AND namespace = ?4 AND deleted = 0 AND abs(update_time - ?1) > ?5`,
  newest: asPage(
    `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND deleted = 0 ORDER BY update_time DESC, session_id DESC LIMIT ?`,
  ),
  newestAfter: asPage(
    `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND deleted = 0 AND (update_time, session_id) < (?, ?) ORDER BY update_time DESC, session_id DESC LIMIT ?`,
  ),
  children: asPage(
    `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND parent_id = ? AND deleted = 0 ORDER BY update_time DESC, session_id DESC LIMIT ?`,
  ),
  childrenAfter: asPage(
    `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND parent_id = ? AND deleted = 0 AND (update_time, session_id) < (?, ?) ORDER BY update_time DESC, session_id DESC LIMIT ?`,
  ),
  owned: asPage(`${OWNED} ${NEWEST_FIRST}`),
  ownedAfter: asPage(`${OWNED} ${AFTER_PLACE} ${NEWEST_FIRST}`),
  labeled: asPage(`SELECT ${OF_LABELED} ${NEWEST_LABELED}`),
  labeledAfter: asPage(`SELECT ${OF_LABELED} ${AFTER_LABEL} ${NEWEST_LABELED}`),
  ownedLabeled: asPage(`SELECT ${OF_OWNED_LABELED} ${NEWEST_LABELED}`),
  ownedLabeledAfter: asPage(`SELECT ${OF_OWNED_LABELED} ${AFTER_LABEL} ${NEWEST_LABELED}`),
  insertLabel: "INSERT INTO labels (uid, label, namespace, owner, update_time, session_id) VALUES (?, ?, ?, ?, ?, ?)",
  deleteLabels: "DELETE FROM labels WHERE uid = ?",
  touchLabels: "UPDATE labels SET update_time = ? WHERE uid = ?",
  insertListed:
    "INSERT INTO listed (uid, namespace, owner, create_time, title_key, session_id, words) VALUES (?, ?, ?, ?, ?, ?, ?)",
  listedWords: "SELECT words FROM listed WHERE uid = ?",
  deleteListed: "DELETE FROM listed WHERE uid = ?",
  insertWord: "INSERT INTO title_words (namespace, word, uid) VALUES (?, ?, ?)",
  deleteWord: "DELETE FROM title_words WHERE namespace = ? AND word = ? AND uid = ?",
  /** Rule: sweep-unforked-only. */
  toSweep: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND forks = 0 AND sweep_at IS NOT NULL AND sweep_at <= ? ORDER BY sweep_at LIMIT ?`,
  binned: `${BINNED} ${LAST_DELETED}`,
  binnedAfter: `${BINNED} ${AFTER_DELETED} ${LAST_DELETED}`,
  ownedBinned: `${BINNED} AND owner = ? ${LAST_DELETED}`,
  ownedBinnedAfter: `${BINNED} AND owner = ? ${AFTER_DELETED} ${LAST_DELETED}`,
  binnedById: `${BINNED} AND session_id = ? ${LAST_DELETED}`,
  binnedByIdAfter: `${BINNED} AND session_id = ? ${AFTER_DELETED} ${LAST_DELETED}`,
  toPurge: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND purge_time IS NOT NULL AND purge_time <= ? ORDER BY purge_time LIMIT ?`,
  drafting: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND deleted = 0 AND drafts IS NOT NULL AND uid > ? ORDER BY uid LIMIT ?`,
  toExpire: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND deleted = 0 AND expire_time IS NOT NULL AND expire_time <= ? ORDER BY expire_time LIMIT ?`,
  unchanged: `SELECT ${RECORD} FROM sessions WHERE namespace = ? AND deleted = 0 AND update_time <= ? AND NOT coalesce(expire_time <= ?, 0) ORDER BY update_time, session_id LIMIT ?`,
  deleteTombstone: "DELETE FROM sessions WHERE uid = ? AND namespace = ? AND deleted = 1",
  scan: asPage(`SELECT ${RECORD} FROM sessions WHERE namespace = ? AND uid > ? ORDER BY uid LIMIT ?`),
  nextNamespace: "SELECT namespace FROM sessions WHERE namespace > ? ORDER BY namespace LIMIT 1",
  firstNamespace: "SELECT namespace FROM sessions WHERE namespace >= '' ORDER BY namespace LIMIT 1",

  /** The living record this many places after another one, and the number of those after it. */
  sessionAhead: `SELECT namespace, session_id FROM sessions INDEXED BY sessions_by_id WHERE deleted = 0 AND (namespace, session_id) > (?, ?) ORDER BY namespace, session_id LIMIT 1 OFFSET ?`,
  sessionsAfter:
    "SELECT count(*) FROM sessions INDEXED BY sessions_by_id WHERE deleted = 0 AND (namespace, session_id) > (?, ?)",
  draftsAfter:
    "SELECT uid, drafts FROM sessions WHERE namespace = ? AND deleted = 0 AND drafts IS NOT NULL AND uid > ? ORDER BY uid LIMIT ?",
  oldestMark: `SELECT sweep_at FROM sessions WHERE namespace = ? AND forks = 0 AND sweep_at IS NOT NULL AND sweep_at > 0
    AND json_extract(body, '$.restoring') IS NULL ORDER BY sweep_at LIMIT 1`,
  firstExpiry:
    "SELECT expire_time FROM sessions WHERE namespace = ? AND deleted = 0 AND expire_time IS NOT NULL ORDER BY expire_time LIMIT 1",

  readTodos: "SELECT revision, iif(revision = ?2, NULL, body) FROM todos WHERE namespace = ?1",
  insertTodos: "INSERT INTO todos (namespace, revision, body) VALUES (?, 1, ?) ON CONFLICT DO NOTHING",
  updateTodos: "UPDATE todos SET revision = revision + 1, body = ? WHERE namespace = ? AND revision = ?",
  nextTodos: "SELECT namespace FROM todos WHERE namespace > ? ORDER BY namespace LIMIT 1",
  firstTodos: "SELECT namespace FROM todos WHERE namespace >= '' ORDER BY namespace LIMIT 1",
  nextDeparted: "SELECT namespace FROM departures WHERE namespace > ? ORDER BY namespace LIMIT 1",
  firstDeparted: "SELECT namespace FROM departures WHERE namespace >= '' ORDER BY namespace LIMIT 1",

  readRegister: "SELECT body, revision FROM registers WHERE name = ?",
  insertRegister: "INSERT INTO registers (name, revision, body) VALUES (?, 1, ?) ON CONFLICT DO NOTHING",
  updateRegister: "UPDATE registers SET revision = revision + 1, body = ? WHERE name = ? AND revision = ?",

  ...ATTACHMENT_SQL,
  ...feedSql(RECORD),
} as const;

/** A value that libsql can bind; it aborts the process on a boolean. */
export type Bound = string | number | null | Uint8Array;
export type Row = readonly Bound[];

/** A prepared statement. */
export class Statement {
  readonly #prepared: Database.Statement<unknown[]>;

  constructor(db: Database.Database, sql: string) {
    this.#prepared = db.prepare(sql);
    if (this.#prepared.reader) this.#prepared.raw();
  }

  /** Returns how many rows were changed. */
  run(...values: Bound[]): number {
    return this.#prepared.run(values).changes;
  }

  get(...values: Bound[]): Row | undefined {
    return this.#prepared.get(values) as Row | undefined;
  }

  all(...values: Bound[]): Row[] {
    return this.#prepared.all(values) as Row[];
  }
}

export type Statements = { readonly [name in keyof typeof SQL]: Statement };

export function prepareAll(db: Database.Database): Statements {
  const pairs = Object.entries(SQL).map(([name, sql]) => [name, new Statement(db, sql)]);
  return Object.fromEntries(pairs) as Statements;
}
