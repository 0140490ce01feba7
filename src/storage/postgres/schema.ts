import { attachmentFunctionsSql } from "./attachment-functions.js";
import { FEED_TABLES, feedSql } from "./feed-schema.js";
import { appendSql, countBytesSql, overwriteSql } from "./functions.js";
import { quoted } from "./postgres-url.js";

/**
 * The version of the tables. Since 2, sessions have owners; since 3, there are attachments; 4 adds what stands below
 * under NEWEST.
 */
export const SCHEMA_VERSION = 4;

/**
 * Makes everything in a schema that is empty or missing. Every statement names the schema, so `search_path`, which the
 * clients of a pooler share, does not matter. Texts are compared by bytes, which no upgrade of a collation changes.
 *
 * `messages`: the name of a log is `uid` and `log` together. `id` is null in a seal, `origin` when it equals
 * `session_id`, and `words` in what the index of words still lacks. `size` is the bytes of `body` and `id`. The key by
 * id begins with the id: with the log in front, a planner without statistics reads whole logs for a page.
 * The planner takes no samples of bodies: no statement needs them, and they would outlive an erasure.
 *
 * `sessions`: `logs` are those that let entries in, `blocked` is a uid that no record may ever have, and `write` tells
 * the last write from others. `segments` is a JSON text without U+0000, which PostgreSQL's JSON functions refuse. What
 * no statement asks about is in `body`, which is TEXT because a JSON type would change it.
 */
export function schemaSql(schema: string, { isMade = false }: { readonly isMade?: boolean } = {}): string {
  const s = quoted(schema);
  return `${isMade ? "" : `CREATE SCHEMA ${s};\n`}
CREATE TABLE ${s}.meta (
  id int PRIMARY KEY CHECK (id = 1),
  version int NOT NULL
);
INSERT INTO ${s}.meta (id, version) VALUES (1, 1);

CREATE TABLE ${s}.messages (
  uid text COLLATE "C" NOT NULL,
  log text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  id text COLLATE "C",
  timestamp bigint NOT NULL,
  write bigint NOT NULL,
  size int NOT NULL,
  role text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  origin text COLLATE "C",
  body text COLLATE "C" NOT NULL,
  words tsvector,
  CONSTRAINT messages_by_place PRIMARY KEY (uid, log, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE UNIQUE INDEX messages_by_id ON ${s}.messages (id, uid, log);
ALTER TABLE ${s}.messages ALTER COLUMN body SET STATISTICS 0;

CREATE TABLE ${s}.sessions (
  uid text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  parent_id text COLLATE "C" NOT NULL,
  update_time bigint NOT NULL,
  expire_time bigint,
  revision bigint NOT NULL,
  forks bigint NOT NULL,
  deleted boolean NOT NULL,
  restoring boolean NOT NULL,
  blocked boolean NOT NULL,
  drafts int NOT NULL,
  open_drafts int NOT NULL,
  sweep_time bigint,
  write bigint NOT NULL,
  logs text[] COLLATE "C" NOT NULL,
  labels text[] COLLATE "C" NOT NULL,
  segments text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  CONSTRAINT sessions_by_uid PRIMARY KEY (uid)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX sessions_by_id ON ${s}.sessions (namespace, session_id) WHERE NOT deleted;
CREATE INDEX sessions_by_namespace ON ${s}.sessions (namespace, uid);
CREATE INDEX sessions_by_time ON ${s}.sessions (namespace, update_time, session_id) WHERE NOT deleted;
CREATE INDEX sessions_by_parent ON ${s}.sessions (namespace, parent_id, update_time, session_id)
  WHERE NOT deleted AND parent_id <> '';
CREATE INDEX sessions_to_expire ON ${s}.sessions (namespace, expire_time)
  WHERE NOT deleted AND expire_time IS NOT NULL;
CREATE INDEX sessions_to_sweep ON ${s}.sessions (namespace, sweep_time) WHERE forks = 0 AND sweep_time IS NOT NULL;
CREATE INDEX sessions_drafting ON ${s}.sessions (namespace, uid) WHERE NOT deleted AND drafts > 0;

CREATE TABLE ${s}.labels (
  uid text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  update_time bigint NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  CONSTRAINT labels_by_uid PRIMARY KEY (uid, label)
);
CREATE INDEX labels_by_time ON ${s}.labels (namespace, label, update_time, session_id);

CREATE TABLE ${s}.todos (
  namespace text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  body text COLLATE "C" NOT NULL
);
${upgradeSql(schema, 1)}`;
}

/**
 * Turns version `from` into the newest one. A new schema gets what is new in the same way, so that it is the same as
 * one that was upgraded.
 */
export function upgradeSql(schema: string, from: 1 | 2 | 3): string {
  const steps = [...(from === 1 ? [ownersSql] : []), ...(from < 3 ? [attachmentsSql] : []), ...NEWEST];
  return `${steps.map((sql) => sql(schema)).join("")}
UPDATE ${quoted(schema)}.meta SET version = ${SCHEMA_VERSION} WHERE id = 1;
`;
}

/**
 * What version 2 has more than version 1. `owner` is empty where a session has none. `bytes` is null in a record whose
 * entries are not counted; an update of a record leaves it alone.
 */
export function ownersSql(schema: string): string {
  const s = quoted(schema);
  return `
ALTER TABLE ${s}.sessions
  ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN creator_key text COLLATE "C",
  ADD COLUMN bytes bigint;
ALTER TABLE ${s}.labels ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_by_owner ON ${s}.sessions (namespace, owner, update_time, session_id) WHERE NOT deleted;
CREATE INDEX sessions_by_key ON ${s}.sessions (namespace, creator_key, bytes)
  WHERE NOT deleted AND creator_key IS NOT NULL;
CREATE INDEX sessions_by_bytes ON ${s}.sessions (namespace, owner, bytes) WHERE NOT deleted AND bytes IS NOT NULL;
CREATE INDEX labels_by_owner ON ${s}.labels (namespace, owner, label, update_time, session_id);
${countBytesSql(schema)}
`;
}

/**
 * What version 3 has more than version 2.
 *
 * `attachments`: `uid` is the session to which it was uploaded, and `uid` and `log` together are the log of its pieces.
 * `seen` is in milliseconds.
 *
 * `attachment_pieces`: most bytes are compressed already, so PostgreSQL does not try, and a read fetches no more than
 * it returns.
 *
 * `attachment_names`: the entry at `uid`, `log` and `seq` names the attachment with this id, whose pieces are in the
 * log
 * `target_uid` and `target_log`.
 *
 * The planner takes no samples of what comes from callers: an emptied table keeps them.
 */
export function attachmentsSql(schema: string): string {
  const s = quoted(schema);
  return `
CREATE TABLE ${s}.attachments (
  uid text COLLATE "C" NOT NULL,
  log text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  attachment_id text COLLATE "C" NOT NULL,
  media_type text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  create_time bigint NOT NULL,
  seen bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  pieces bigint NOT NULL,
  CONSTRAINT attachments_by_log PRIMARY KEY (uid, log)
);
CREATE UNIQUE INDEX attachments_by_id ON ${s}.attachments (uid, attachment_id) WHERE state = 'stored';
CREATE INDEX attachments_by_seen ON ${s}.attachments (namespace, state, seen);
ALTER TABLE ${s}.attachments ALTER COLUMN attachment_id SET STATISTICS 0, ALTER COLUMN media_type SET STATISTICS 0,
  ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0;

CREATE TABLE ${s}.attachment_pieces (
  uid text COLLATE "C" NOT NULL,
  log text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT attachment_pieces_by_place PRIMARY KEY (uid, log, seq)
);
ALTER TABLE ${s}.attachment_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL, ALTER COLUMN bytes SET STATISTICS 0;

CREATE TABLE ${s}.attachment_names (
  uid text COLLATE "C" NOT NULL,
  log text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  attachment_id text COLLATE "C" NOT NULL,
  target_uid text COLLATE "C" NOT NULL,
  target_log text COLLATE "C" NOT NULL,
  CONSTRAINT attachment_names_by_place PRIMARY KEY (uid, log, seq, attachment_id)
);
CREATE INDEX attachment_names_by_id ON ${s}.attachment_names (uid, log, attachment_id, seq);
CREATE INDEX attachment_names_by_target ON ${s}.attachment_names (target_uid, target_log, uid, log, seq);
ALTER TABLE ${s}.attachment_names ALTER COLUMN attachment_id SET STATISTICS 0;
${attachmentFunctionsSql(schema)}
`;
}

/**
 * Of what version 4 has more than version 3, the usage of messages: that of the message, as `usageText` writes it, and
 * the sums of its log up to it, as `runningText` writes them; both null in a message without usage. The texts are not
 * in the index, which could not hold long ones, and the planner takes no samples of them.
 */
function usageSql(schema: string): string {
  const s = quoted(schema);
  return `
ALTER TABLE ${s}.messages
  ADD COLUMN usage text COLLATE "C",
  ADD COLUMN usage_sums text COLLATE "C";
ALTER TABLE ${s}.messages ALTER COLUMN usage SET STATISTICS 0, ALTER COLUMN usage_sums SET STATISTICS 0;
CREATE INDEX messages_by_usage ON ${s}.messages (uid, log, seq) WHERE usage IS NOT NULL;
${appendSql(s, 3)}
${overwriteSql(s, 3)}
`;
}

/** Of what version 4 adds, the bin. Both columns are null in all other records. */
function binSql(schema: string): string {
  const s = quoted(schema);
  return `
ALTER TABLE ${s}.sessions ADD COLUMN delete_time bigint, ADD COLUMN purge_time bigint;
CREATE INDEX sessions_in_bin ON ${s}.sessions (namespace, delete_time, session_id) WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_in_bin_by_owner ON ${s}.sessions (namespace, owner, delete_time, session_id)
  WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_in_bin_by_id ON ${s}.sessions (namespace, session_id, delete_time) WHERE delete_time IS NOT NULL;
CREATE INDEX sessions_to_purge ON ${s}.sessions (namespace, purge_time) WHERE purge_time IS NOT NULL;
`;
}

/**
 * What all rows of `listed` meet. A query in one of the two orders says that of its own, so that a planner without
 * statistics does not take the index of the other one and sort all that it finds.
 */
export const ANY_TIME = `create_time >= ${Number.MIN_SAFE_INTEGER}`;
export const ANY_TITLE = "title_key >= ''";

/**
 * Of what version 4 adds, other orders of lists: each living session by its title, as `titleKey` makes it, and by when
 * it was created; and the words of its title. These are tables of their own because an append, which moves a session in
 * time, would write to every index of `sessions`. `listing` has a row as long as sessions of an earlier version are
 * missing in them: the program finds the words, which SQL cannot, and `after_uid` says how far it is.
 */
function listsSql(schema: string): string {
  const s = quoted(schema);
  return `
CREATE TABLE ${s}.listed (
  uid text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  create_time bigint NOT NULL,
  title_key text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  CONSTRAINT listed_by_uid PRIMARY KEY (uid)
);
CREATE INDEX listed_by_create_time ON ${s}.listed (namespace, create_time, session_id) WHERE ${ANY_TIME};
CREATE INDEX listed_by_title ON ${s}.listed (namespace, title_key, session_id) WHERE ${ANY_TITLE};
CREATE INDEX listed_by_owner_create_time ON ${s}.listed (namespace, owner, create_time, session_id)
  WHERE ${ANY_TIME};
CREATE INDEX listed_by_owner_title ON ${s}.listed (namespace, owner, title_key, session_id)
  WHERE ${ANY_TITLE};
CREATE TABLE ${s}.title_words (
  uid text COLLATE "C" NOT NULL,
  word text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  CONSTRAINT title_words_by_uid PRIMARY KEY (uid, word)
);
CREATE INDEX title_words_by_word ON ${s}.title_words (namespace, word, uid);
ALTER TABLE ${s}.listed ALTER COLUMN title_key SET STATISTICS 0;
ALTER TABLE ${s}.title_words ALTER COLUMN word SET STATISTICS 0;
CREATE TABLE ${s}.listing (
  id int PRIMARY KEY CHECK (id = 1),
  after_uid text COLLATE "C" NOT NULL
);
INSERT INTO ${s}.listing (id, after_uid) VALUES (1, '');
`;
}

const LIST_TABLES = ["listed", "title_words", "listing"] as const;

/** Of what version 4 adds, the registers of the database. */
function registersSql(schema: string): string {
  return `
CREATE TABLE ${quoted(schema)}.registers (
  name text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  body text COLLATE "C" NOT NULL
);
`;
}

/** What version 4 has more than version 3. */
const NEWEST = [usageSql, binSql, listsSql, feedSql, registersSql];

export const ATTACHMENT_TABLES = ["attachments", "attachment_pieces", "attachment_names"] as const;
/** The tables that version 4 adds. */
export const NEWEST_TABLES = [...LIST_TABLES, ...FEED_TABLES, "registers"] as const;
/** All tables that the service writes to. */
export const TABLES = ["messages", "sessions", "labels", "todos", ...ATTACHMENT_TABLES, ...NEWEST_TABLES] as const;
