import type Database from "libsql";
import { DomainError } from "../../domain/errors.js";

/** `SPOL`: tells our files from those of other programs. */
export const APPLICATION_ID = 0x53504f4c;
export const SCHEMA_VERSION = 1;

/** Leaves room for messages of a few KB in one page; with 4 KiB a message of 1 KB would need an overflow page of its own. */
export const PAGE_BYTES = 8192;

/** A message whose `id` is null is a seal. `origin` is null where it is the same as `session_id`. */
const VERSION_1 = `
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

CREATE TABLE sessions (
	uid TEXT NOT NULL PRIMARY KEY,
	namespace TEXT NOT NULL,
	session_id TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	update_time INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	forks INTEGER NOT NULL,
	deleted_at INTEGER,
	sweep_at INTEGER,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_uid ON sessions (namespace, uid);
CREATE UNIQUE INDEX sessions_by_id ON sessions (namespace, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_time ON sessions (namespace, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, update_time, session_id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_to_sweep ON sessions (namespace, sweep_at) WHERE forks = 0 AND sweep_at IS NOT NULL;

CREATE TABLE todos (
	namespace TEXT NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Whether the file is ours already; throws when it is another program's, a newer version's or lacks a table. */
export function hasSchema(db: Database.Database, file: string): boolean {
  const applicationId = pragma(db, "application_id");
  const version = pragma(db, "user_version");
  if (applicationId === 0 && version === 0 && isEmpty(db)) return false;
  if (applicationId !== APPLICATION_ID) {
    throw new DomainError("failed_precondition", `${file} is a database of another program`);
  }
  if (version !== SCHEMA_VERSION) {
    throw new DomainError(
      "failed_precondition",
      `${file} has schema version ${version}, and this program knows versions up to ${SCHEMA_VERSION}`,
    );
  }
  db.prepare("SELECT 1 FROM messages, sessions, todos LIMIT 0");
  return true;
}

/** Makes the schema unless it is there; whoever comes second finds it. */
export function ensureSchema(db: Database.Database, file: string): void {
  if (hasSchema(db, file)) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (!hasSchema(db, file)) {
      db.exec(`${VERSION_1} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION};`);
    }
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function pragma(db: Database.Database, name: string): number {
  const [value] = db.prepare(`PRAGMA ${name}`).raw().get([]) as [number];
  return value;
}

function isEmpty(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").raw().get([]) === undefined;
}
