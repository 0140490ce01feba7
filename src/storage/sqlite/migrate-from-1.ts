import type Database from "libsql";
import type { NextRecord, Segment } from "../history/log-store.js";
import { fromColumn } from "../text-column.js";
import { recordToRow } from "./rows.js";
import { type Row, SQL, Statement } from "./statements.js";

/**
 * The fields that version 1 kept differently in the JSON of a record: a single log for older messages, and dropped
 * ranges dated by the machine's clock.
 */
type Body1 = Omit<NextRecord, "sessionRevision" | "namedLogs" | "drafts" | "dropped"> & {
  readonly version: number;
  readonly sideLog: string | null;
  readonly dropped: readonly Segment[];
};

const READ_1 =
  "SELECT uid, namespace, forks, session_id, parent_id, update_time, revision, deleted_at, body FROM sessions_1 WHERE uid > ? ORDER BY uid LIMIT 500";
const SET_FORKS = "UPDATE sessions SET forks = ? WHERE uid = ?";

/**
 * Migrates version 1 to the newest one, inside a transaction that the caller holds: the logs that a record names move
 * from its JSON into columns. Whatever is waiting to be swept is marked again by the next sweep. `tables` holds the
 * statements that make the new tables.
 */
export function migrateFrom1(db: Database.Database, tables: string): void {
  for (const index of ["by_uid", "by_id", "by_time", "by_parent", "to_sweep"]) db.exec(`DROP INDEX sessions_${index}`);
  db.exec("ALTER TABLE sessions RENAME TO sessions_1");
  db.exec(tables);
  const read = new Statement(db, READ_1);
  const insert = new Statement(db, SQL.insertRecord);
  const setForks = new Statement(db, SET_FORKS);
  for (let rows = read.all(""); rows.length > 0; rows = read.all(rows.at(-1)?.[0] as string)) {
    for (const row of rows) {
      const [uid, namespace, forks] = row as [string, string, number];
      // Its bytes are not counted, and it has no place in the feed.
      insert.run(uid, namespace, null, null, ...recordToRow(recordOf(row)));
      if (forks > 0) setForks.run(forks, uid);
    }
  }
  db.exec("DROP TABLE sessions_1");
}

function recordOf(row: Row): NextRecord {
  const [uid, , , sessionId, parentId, updateTimeMicros, revision, deletedAt, body] = row as Row1;
  const { sideLog, version, dropped, ...rest } = JSON.parse(body) as Body1;
  return {
    ...rest,
    sessionRevision: version,
    uid: fromColumn(uid),
    sessionId: fromColumn(sessionId),
    parentId: fromColumn(parentId),
    updateTimeMicros,
    revision,
    namedLogs: sideLog === null ? [] : [{ log: sideLog, purpose: "older" }],
    drafts: [],
    dropped: dropped.map(({ log, first, last }) => ({ log, first, last })),
    deleted: deletedAt !== null,
    markedAtMs: null,
  };
}

type Row1 = readonly [string, string, number, string, string, number, number, number | null, string];
