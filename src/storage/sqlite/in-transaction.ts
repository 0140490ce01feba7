import type Database from "libsql";

/**
 * Runs the work in one transaction that locks the file for writing from its beginning. Returns what the work returns;
 * when it throws, nothing is changed.
 *
 * BEGIN is not prepared: a prepared BEGIN that finds the file locked stays active, and keeps the reads of this
 * connection at that moment until it runs again, so they would miss what other processes commit meanwhile. `exec`
 * always finalizes its statement.
 */
export function inTransaction<T>(db: Database.Database, work: () => T, commit = () => void db.exec("COMMIT")): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    commit();
    return result;
  } catch (error) {
    // Some errors end the transaction by themselves.
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Runs reads in one transaction, so that they all see the database as of one moment. */
export function inSnapshot<T>(db: Database.Database, reads: () => T): T {
  db.exec("BEGIN");
  try {
    return reads();
  } finally {
    if (db.inTransaction) db.exec("ROLLBACK");
  }
}
