import pg from "pg";
import { DomainError, type ErrorCode } from "../../domain/errors.js";

/** The connection could not be had, so nothing was sent on it. */
export class NotConnected extends Error {}

/** The server has committed a write before as many standbys had it as it should have waited for. */
export class Unreplicated extends Error {}

const UNIQUE_VIOLATION = "23505";
const QUERY_CANCELED = "57014";
const CANNOT_CONNECT_NOW = "57P03";
const READ_ONLY = "25006";

/**
 * SQLSTATEs of statements that the server has rolled back and that may succeed at once when they are sent again:
 * serialization failures and deadlocks, a prepared statement that is gone, there already, or planned for other columns,
 * and a server that was demoted to a standby.
 */
const REPEATABLE: ReadonlySet<string> = new Set(["40001", "40P01", "26000", "42P05", READ_ONLY]);
/** The server's function that finds a statement planned for other columns, which has no SQLSTATE of its own. */
const STALE_PLAN = "RevalidateCachedQuery";
/** Classes and SQLSTATEs of a server that cannot take statements now. */
const UNAVAILABLE = /^(08|40|53|55P03|57|58|25006|25P0[23])/;
/**
 * A role, database, schema, table, column or function that is missing, that this role may not use, or that somebody
 * else has made.
 */
const UNUSABLE = /^(28|3D|3F|42501|42703|42723|42883|42P0[167])/;
/** What the driver says of a URL that this server or this machine does not allow; it has no codes for it. */
const UNUSABLE_URL = /^(SASL|ENOENT|EACCES|The server does not support SSL)/;
/** A row of an index would be too long, or a text too long for its words. */
const TOO_LONG = "54000";

const TEXTS: Readonly<Partial<Record<string, string>>> = {
  "25006": "PostgreSQL is a standby, or read-only",
  "53100": "The disk of the PostgreSQL server is full",
  "53300": "PostgreSQL has no connection left",
  "55P03": "A lock in PostgreSQL was not free in time",
};

/** The text of an error that says nothing more. */
export const NOT_AVAILABLE = "PostgreSQL is not available";

/** The only place where an error of the driver becomes one of ours; the original is kept as the cause. */
export function postgresError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const cause = error instanceof NotConnected ? error.cause : error;
  const because = { cause: error };
  if (cause instanceof DomainError) return new DomainError(cause.code, cause.message, because);
  if (!isOfServer(cause)) {
    // A fault of ours is no trouble of the network.
    if (cause instanceof TypeError || cause instanceof RangeError || cause instanceof SyntaxError) {
      return new DomainError("internal", "A PostgreSQL statement failed", because);
    }
    if (error instanceof NotConnected && cause instanceof Error && UNUSABLE_URL.test(cause.message)) {
      return new DomainError(
        "failed_precondition",
        `The PostgreSQL database cannot be used: ${cause.message}`,
        because,
      );
    }
    return new DomainError("unavailable", NOT_AVAILABLE, because);
  }
  const code = cause.code ?? "";
  if (isRepeatable(cause)) return new DomainError("unavailable", textFor(code, cause), because);
  return new DomainError(codeFor(code), textFor(code, cause), because);
}

function codeFor(code: string): ErrorCode {
  if (code === UNIQUE_VIOLATION) return "already_exists";
  if (code === TOO_LONG) return "invalid_argument";
  if (UNAVAILABLE.test(code)) return "unavailable";
  return UNUSABLE.test(code) ? "failed_precondition" : "internal";
}

function textFor(code: string, { message }: pg.DatabaseError): string {
  const text = TEXTS[code];
  if (text !== undefined) return text;
  if (code === UNIQUE_VIOLATION) return "PostgreSQL has a row with this key";
  if (code === TOO_LONG) return "A text is too long for an index of PostgreSQL";
  if (UNUSABLE.test(code)) return `The PostgreSQL database cannot be used: ${message}`;
  return UNAVAILABLE.test(code) ? NOT_AVAILABLE : "PostgreSQL has refused the statement";
}

/** The unique constraint that refused a row; null for errors of another kind. */
export function takenKey(error: unknown): string | null {
  const cause = databaseError(error);
  return cause?.code === UNIQUE_VIOLATION ? (cause.constraint ?? "") : null;
}

/** Whether a statement that failed like this may have been carried out. */
export function isUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof DomainError) || error.code !== "unavailable" || wasRefused(error)) return false;
  const cause = databaseError(error);
  // With a code, the server has rolled it back. Only what ends the connection says nothing about the statement.
  return cause === undefined || /^(08|57P)/.test(cause.code ?? "");
}

/**
 * Whether a statement has certainly not been carried out and may succeed when it is sent again: there was no
 * connection, or the server rolled it back for a reason that has gone by the next time.
 */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof DomainError)) return false;
  if (error.cause instanceof NotConnected) return error.code === "unavailable";
  const cause = databaseError(error);
  return cause !== undefined && isRepeatable(cause);
}

/** Whether the server has ended a statement because it was asked to. */
export function wasCanceled(error: unknown): boolean {
  return databaseError(error)?.code === QUERY_CANCELED;
}

/** Whether the server has refused a write because it takes none. */
export function wasReadOnly(error: unknown): boolean {
  return databaseError(error)?.code === READ_ONLY;
}

/** Whether the server takes no connection yet, but soon will. */
export function isStarting(error: unknown): boolean {
  return databaseError(error)?.code === CANNOT_CONNECT_NOW;
}

/** Whether a connection can be used again after an error: the server has refused the statement and goes on. */
export function isReusable(error: unknown): boolean {
  const cause = databaseError(error);
  if (cause === undefined) return false;
  return isRepeatable(cause) ? /^40/.test(cause.code ?? "") : !/^(08|57P)/.test(cause.code ?? "");
}

function isRepeatable({ code, routine }: pg.DatabaseError): boolean {
  return REPEATABLE.has(code ?? "") || routine === STALE_PLAN;
}

function databaseError(error: unknown): pg.DatabaseError | undefined {
  let cause = error instanceof DomainError ? error.cause : error;
  if (cause instanceof NotConnected) cause = cause.cause;
  return isOfServer(cause) ? cause : undefined;
}

/** Whether the server has sent this error. The driver makes one without a code of a message that it does not know. */
function isOfServer(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code !== undefined;
}
