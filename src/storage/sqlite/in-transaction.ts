import type Database from "libsql";

/** How a transaction begins and ends, where that differs. */
interface TransactionSteps {
  readonly begin?: () => unknown;
  readonly commit?: () => unknown;
}

/**
 * Runs the work in one transaction, which locks the file for writing from its beginning unless `begin` does something
 * else. Returns what the work returns; when it throws, nothing is changed.
 *
 * BEGIN is not prepared: a prepared BEGIN that finds the file locked stays active, and keeps the reads of this
 * connection at that moment until it runs again, so they would miss what other processes commit meanwhile. `exec`
 * always finalizes its statement.
 */
export function inTransaction<T>(
  db: Database.Database,
  work: () => T,
  { begin = () => db.exec("BEGIN IMMEDIATE"), commit = () => db.exec("COMMIT") }: TransactionSteps = {},
): T {
  begin();
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
