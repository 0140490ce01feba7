import type Database from "libsql";
import { DomainError } from "../../domain/errors.js";
import { inTransaction } from "./in-transaction.js";
import { migrateFrom1 } from "./migrate-from-1.js";
import { listSessions } from "./migrate-listed.js";

/** `SPOL`, which distinguishes our files from those of other programs. */
export const APPLICATION_ID = 0x53504f4c;
export const SCHEMA_VERSION = 5;

/** Large enough for messages of a few KB. With pages of 4 KiB, a message of 1 KB would need an overflow page. */
export const PAGE_BYTES = 8192;

/** A row whose `id` is null is a seal. `origin` is null where it equals `session_id`. */
const MESSAGES = `
CREATE TABLE messages (
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	id TEXT,
	timestamp INTEGER NOT NULL,
	role TEXT NOT NULL,
	session_id TEXT NOT NULL,
	origin TEXT,
	size INTEGER NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (log, id);
`;

/**
 * A record. The columns that every append looks up stand before `body`, which may be long. `log` is the open log;
 * `named_logs` and `drafts` are JSON lists of the other logs that entries may be appended to, null when there are none.
 */
const SESSIONS = `
CREATE TABLE sessions (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	forks INTEGER NOT NULL,
	session_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	expire_time INTEGER,
	revision INTEGER NOT NULL,
	deleted INTEGER NOT NULL,
	sweep_at INTEGER,
	log TEXT NOT NULL,
	named_logs TEXT,
	drafts TEXT,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_uid ON sessions (namespace, uid);
CREATE UNIQUE INDEX sessions_by_id ON sessions (namespace, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_time ON sessions (namespace, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_to_expire ON sessions (namespace, expire_time) WHERE deleted = 0 AND expire_time IS NOT NULL;
CREATE INDEX sessions_to_sweep ON sessions (namespace, sweep_at) WHERE forks = 0 AND sweep_at IS NOT NULL;
CREATE INDEX sessions_drafting ON sessions (namespace, uid) WHERE deleted = 0 AND drafts IS NOT NULL;
`;

/** The labels of living sessions, each as `key=value`, with the place of the session in lists. */
const LABELS = `
CREATE TABLE labels (
	uid TEXT NOT NULL,
	label TEXT NOT NULL,
	namespace TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	session_id TEXT NOT NULL,
	PRIMARY KEY (uid, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_time ON labels (namespace, label, update_time, session_id);
`;

/**
 * What version 3 adds. A new file gets it in the same way, so that it is the same as one that was upgraded. `owner` is
 * empty where a session has none. `bytes` is null in a record whose entries are not counted; an update of a record
 * leaves it alone.
 */
const OWNERS = `
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN creator_key TEXT;
ALTER TABLE sessions ADD COLUMN bytes INTEGER;
ALTER TABLE labels ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_owner ON sessions (namespace, owner, update_time, session_id) WHERE deleted = 0;
CREATE INDEX sessions_by_key ON sessions (namespace, creator_key, bytes) WHERE deleted = 0 AND creator_key IS NOT NULL;
CREATE INDEX sessions_by_bytes ON sessions (namespace, owner, bytes) WHERE deleted = 0 AND bytes IS NOT NULL;
CREATE INDEX labels_by_owner ON labels (namespace, owner, label, update_time, session_id);
`;

/**
 * What version 4 adds. `log` is that of an attachment's pieces. Names are what stored entries say of attachments, and
 * are written and deleted in the transaction of the entry; `target` is the log of the pieces.
 */
const ATTACHMENTS = `
CREATE TABLE attachments (
	log TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	uid TEXT NOT NULL,
	id TEXT NOT NULL,
	state TEXT NOT NULL,
	media_type TEXT NOT NULL,
	name TEXT NOT NULL,
	size INTEGER NOT NULL,
	sha256 TEXT NOT NULL,
	create_time INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	pieces INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attachments_by_id ON attachments (namespace, uid, id) WHERE state = 'stored';
CREATE INDEX attachments_by_time ON attachments (namespace, state, seen);
CREATE TABLE attachment_pieces (
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	bytes BLOB NOT NULL,
	PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE attachment_names (
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	id TEXT NOT NULL,
	target TEXT NOT NULL,
	PRIMARY KEY (log, seq, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_names_by_id ON attachment_names (log, id, target);
CREATE INDEX attachment_names_by_target ON attachment_names (target, log, seq);
`;

/**
 * Of what version 5 adds, the usage of messages: that of the message, as `usageText` writes it, and the sums of its log
 * up to it, as `runningText` writes them; both null in a message without usage. The index has all that is read of them.
 */
const USAGE = `
ALTER TABLE messages ADD COLUMN usage TEXT;
ALTER TABLE messages ADD COLUMN usage_sums TEXT;
CREATE INDEX messages_by_usage ON messages (log, seq, timestamp, session_id, origin, usage, usage_sums)
	WHERE usage IS NOT NULL;
`;

/**
 * What version 5 adds for lists: each living session by its title, as `titleKey` makes it, by the words of the title,
 * and by the time at which it was created. `words` is a JSON list. Appends change none of it.
 */
const LISTED = `
CREATE TABLE listed (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	owner TEXT NOT NULL,
	create_time INTEGER NOT NULL,
	title_key TEXT NOT NULL,
	session_id TEXT NOT NULL,
	words TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX listed_by_create_time ON listed (namespace, create_time, session_id);
CREATE INDEX listed_by_title ON listed (namespace, title_key, session_id);
CREATE INDEX listed_by_owner_create_time ON listed (namespace, owner, create_time, session_id);
CREATE INDEX listed_by_owner_title ON listed (namespace, owner, title_key, session_id);
CREATE TABLE title_words (
	namespace TEXT NOT NULL,
	word TEXT NOT NULL,
	uid TEXT NOT NULL,
	PRIMARY KEY (namespace, word, uid)
) STRICT, WITHOUT ROWID;
`;

const OF_LISTS = ["listed", "title_words"];
/**
 * Of what version 5 adds, the feed. `place` is that of the last change of a session, and `made_at` the one at which it
 * was made, published or brought back; both are null in a session that has not changed since the file was upgraded.
 * `owner` and `labels` are digests. `first` is the last place whose row was removed.
 */
const FEED = `
ALTER TABLE sessions ADD COLUMN place INTEGER;
ALTER TABLE sessions ADD COLUMN made_at INTEGER;
CREATE INDEX sessions_by_place ON sessions (namespace, place) WHERE deleted = 0 AND place IS NOT NULL;
CREATE TABLE departures (
	namespace TEXT NOT NULL,
	place INTEGER NOT NULL,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	uid TEXT NOT NULL,
	session_id TEXT NOT NULL,
	owner TEXT NOT NULL,
	labels TEXT NOT NULL,
	PRIMARY KEY (namespace, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX departures_by_time ON departures (namespace, at);
CREATE TABLE feed_starts (namespace TEXT NOT NULL PRIMARY KEY, first INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE feed (one INTEGER NOT NULL PRIMARY KEY, id TEXT NOT NULL) STRICT;
INSERT INTO feed (one, id) VALUES (1, lower(hex(randomblob(16))));
`;

/** Of what version 5 adds, the registers of the file. */
const REGISTERS = `
CREATE TABLE registers (
	name TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

const OF_FEED = ["departures", "feed_starts", "feed"];
const OF_ATTACHMENTS = ["attachments", "attachment_pieces", "attachment_names"];

/** What version 5 adds for deleted sessions that can be brought back; both columns are null in all other records. */
const BIN = `
ALTER TABLE sessions ADD COLUMN delete_time INTEGER;
ALTER TABLE sessions ADD COLUMN purge_time INTEGER;
CREATE INDEX sessions_in_bin ON sessions (namespace, delete_time, session_id) WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_in_bin_by_owner ON sessions (namespace, owner, delete_time, session_id) WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_in_bin_by_id ON sessions (namespace, session_id, delete_time) WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_to_purge ON sessions (namespace, purge_time) WHERE purge_time IS NOT NULL;
`;

const TODOS = `
CREATE TABLE todos (
	namespace TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * The schema version of the file, or 0 when the file is empty. Throws when the file belongs to another program or a
 * newer version, or lacks a table.
 */
export function schemaVersion(db: Database.Database, file: string): number {
  const { applicationId, version, isEmpty } = identityOf(db);
  if (applicationId === 0 && version === 0 && isEmpty) return 0;
  if (applicationId !== APPLICATION_ID) {
    throw new DomainError("failed_precondition", `${file} is a database of another program`);
  }
  if (version < 1 || version > SCHEMA_VERSION) {
    throw new DomainError(
      "failed_precondition",
      `${file} has schema version ${version}, and this program knows versions up to ${SCHEMA_VERSION}`,
    );
  }
  const tables = [
    "messages",
    "sessions",
    "todos",
    ...(version > 1 ? ["labels"] : []),
    ...(version > 3 ? OF_ATTACHMENTS : []),
    ...(version > 4 ? OF_LISTS : []),
    ...(version > 4 ? OF_FEED : []),
    ...(version > 4 ? ["registers"] : []),
  ];
  db.prepare(`SELECT 1 FROM ${tables.join()} LIMIT 0`);
  return version;
}

/**
 * Makes the schema, or upgrades that of an earlier version, in one transaction. Of several callers, only the first has
 * anything to do.
 */
export function ensureSchema(db: Database.Database, file: string): void {
  if (schemaVersion(db, file) === SCHEMA_VERSION) return;
  inTransaction(db, () => {
    const version = schemaVersion(db, file);
    const tables = `${SESSIONS} ${LABELS} ${OWNERS} ${ATTACHMENTS} ${USAGE} ${LISTED} ${BIN} ${FEED} ${REGISTERS}`;
    if (version === 0) db.exec(`${MESSAGES} ${tables} ${TODOS} PRAGMA application_id = ${APPLICATION_ID};`);
    if (version === 1) migrateFrom1(db, tables);
    if (version === 2) db.exec(OWNERS);
    if (version === 2 || version === 3) db.exec(ATTACHMENTS);
    if (version >= 2 && version <= 4) db.exec(`${USAGE} ${LISTED} ${BIN} ${FEED} ${REGISTERS}`);
    if (version > 0) listSessions(db);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

/**
 * A single statement sees the file as of one moment. Between two statements another process could make the schema, and
 * the mixture of before and after would look like another program's database.
 */
function identityOf(db: Database.Database): { applicationId: number; version: number; isEmpty: boolean } {
  const sql = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
    (SELECT count(*) FROM sqlite_schema)`;
  const [applicationId, version, count] = db.prepare(sql).raw().get([]) as [number, number, number];
  return { applicationId, version, isEmpty: count === 0 };
}
