import { DomainError } from "../../domain/errors.js";

/** The driver's code of an error; undefined for errors of other origin. */
function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return error.code.startsWith("SQLITE_") ? error.code : undefined;
}

/** Whether another connection holds the lock, so that the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(sqliteCode(error) ?? "");
}

/** Whether the file is not a database, or not a whole one. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error) ?? "");
}

/** The error that a caller gets for an error of the driver. */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const code = sqliteCode(error) ?? "";
  const because = { cause: error };
  if (isBusy(error)) return new DomainError("unavailable", "The database file is locked by another process", because);
  if (isDamaged(error)) return new DomainError("internal", "The database file is damaged", because);
  if (code.startsWith("SQLITE_FULL"))
    return new DomainError("unavailable", "The disk of the database is full", because);
  if (/^SQLITE_(IOERR|CANTOPEN|READONLY|PERM|AUTH|NOLFS)/.test(code)) {
    return new DomainError("unavailable", "The database file cannot be read or written", because);
  }
  return new DomainError("internal", "The database failed", because);
}

/** Whether a value was longer than SQLite, or a string, can be. */
export function isTooBig(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "SQLITE_TOOBIG" || code === "ERR_STRING_TOO_LONG";
}
