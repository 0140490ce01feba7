import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
} from "mongodb";
import { DomainError, type ErrorCode } from "../../domain/errors.js";

const DUPLICATE_KEY = 11000;
const MAX_TIME_EXPIRED = 50;
const WRITE_CONFLICT = 112;

/**
 * Codes for a server that cannot take the command now: it has no primary, the primary is going down, or too few nodes
 * have confirmed a write.
 */
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([
  6,
  7,
  43,
  64,
  79,
  89,
  91,
  100,
  WRITE_CONFLICT,
  133,
  134,
  189,
  202,
  262,
  290,
  317,
  358,
  384,
  402,
  461,
  462,
  9001,
  10058,
  10107,
  11600,
  11601,
  11602,
  13388,
  13435,
  13436,
  14031,
]);

/** NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary: the server refuses before it does anything. */
const NO_PRIMARY: ReadonlySet<number> = new Set([10107, 13435, 13436]);

/** Driver errors that come from a connection, a pool or a client, never from a refusal by the server. */
const UNAVAILABLE_NAMES: ReadonlySet<string> = new Set([
  "MongoClientClosedError",
  "MongoConnectionPoolClosedError",
  "MongoExpiredSessionError",
  "MongoNotConnectedError",
  "MongoPoolClearedError",
  "MongoPoolClearedOnNetworkError",
  "MongoPoolClosedError",
  "MongoServerClosedError",
  "MongoTopologyClosedError",
  "MongoWaitQueueTimeoutError",
  "MongoWriteConcernError",
]);

/** Errors of an answer that cannot be read. What was asked for may have been done. */
const UNREADABLE_NAMES: ReadonlySet<string> = new Set([
  "BSONError",
  "BSONOffsetError",
  "MongoDecompressionError",
  "MongoUnexpectedServerResponseError",
]);

/** The codes of Node's errors that a socket may emit: those of the system, of TLS and of streams. */
const SOCKET_ERROR = /^(E[A-Z0-9]+|ERR_(SSL|TLS|SOCKET|STREAM)_\w+)$/;

/** The key that a unique index refused. */
export interface DuplicateKey {
  /** The name of the index; empty when the server does not tell. */
  readonly key: string;
  /** Which of the documents sent was refused. */
  readonly at: number;
}

/** What limits the time of an operation. */
export interface TimeLimit {
  /** Whether the driver was given the caller's deadline rather than an earlier one. */
  readonly endsAtDeadline?: boolean;
  /** Whether the caller's deadline has passed. */
  readonly isOver?: boolean;
}

/** The only place where a driver's error becomes one of ours; the original is kept as the cause. */
export function mongoError(error: unknown, limit: TimeLimit = {}): DomainError {
  if (error instanceof DomainError) return error;
  const options = { cause: error };
  if (isDuplicate(error)) return new DomainError("already_exists", "MongoDB has a document with this key", options);
  const isLate = isTimeout(error);
  if (isLate || isUnavailable(error)) {
    return limit.isOver || (isLate && limit.endsAtDeadline)
      ? new DomainError("deadline_exceeded", "The deadline has passed", options)
      : new DomainError("unavailable", "MongoDB is not available", options);
  }
  return new DomainError(codeOf(error), "MongoDB has refused the operation", options);
}

/** The unique key that an error of `mongoError` is about; null when it is not about one. */
export function duplicateKey(error: unknown): DuplicateKey | null {
  const cause = error instanceof DomainError ? error.cause : error;
  if (!isDuplicate(cause)) return null;
  const refusal = cause instanceof MongoBulkWriteError ? [cause.writeErrors].flat()[0] : undefined;
  const text = refusal?.errmsg ?? (cause as MongoServerError).message;
  // MongoDB writes `index: name`; some servers put the collection in front (`index: db.messages.$name`), and DocumentDB
  // writes `Index 'name'`.
  return { key: /index:? '?(?:[^\s']+\$)?([^\s']+)/i.exec(text)?.[1] ?? "", at: refusal?.index ?? 0 };
}

/** Whether a write that failed with this error may have happened. After a duplicate key or a refusal it has not. */
export function isUnknownOutcome(error: unknown): boolean {
  return error instanceof DomainError && (error.code === "unavailable" || error.code === "deadline_exceeded");
}

/**
 * Whether a write of one document has certainly not happened: no primary took it, it lost to another write, or it was
 * never sent.
 */
export function wasRefused(error: unknown): boolean {
  const cause = error instanceof DomainError ? error.cause : error;
  if (!(cause instanceof MongoError)) return false;
  if (cause.name === "MongoPoolClearedError") return true;
  return cause.name === "MongoServerError" && (NO_PRIMARY.has(Number(cause.code)) || isConflict(cause));
}

/**
 * DocumentDB runs every command as a transaction. One that loses to another is rolled back, and its code is not always
 * MongoDB's.
 */
function isConflict(error: MongoError): boolean {
  return Number(error.code) === WRITE_CONFLICT || /\bdeadlock\b/i.test(error.message);
}

function isTimeout(error: unknown): boolean {
  // The driver (7.7) puts the time-out of an insertMany into a bulk error.
  const cause = error instanceof MongoBulkWriteError ? error.errorResponse : error;
  return (
    cause instanceof MongoOperationTimeoutError ||
    (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED)
  );
}

function isDuplicate(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  if (!(error instanceof MongoBulkWriteError)) return error.code === DUPLICATE_KEY;
  if (isUnconfirmed(error)) return false;
  const refusals = [error.writeErrors].flat();
  return refusals.length > 0 && refusals.every(({ code }) => code === DUPLICATE_KEY);
}

/**
 * Whether too few nodes have confirmed the documents that a bulk write did store. A new primary may not have them, so a
 * duplicate key among the others does not tell that those before it are stored for good.
 */
function isUnconfirmed(error: MongoBulkWriteError): boolean {
  return Boolean(error.result?.getWriteConcernError?.());
}

/**
 * Whether this is the error of a socket itself. When a connection breaks while a command is being written to it, the
 * driver (7.7) passes this error on instead of a MongoNetworkError. That of a bulk write has the socket's code.
 */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && "code" in error && SOCKET_ERROR.test(String(error.code));
}

function isUnavailable(error: unknown): boolean {
  if (isSocketError(error) || (error instanceof Error && UNREADABLE_NAMES.has(error.name))) return true;
  if (!(error instanceof MongoError)) return false;
  if (error instanceof MongoBulkWriteError && isUnconfirmed(error)) return true;
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (UNAVAILABLE_NAMES.has(error.name) || UNAVAILABLE_CODES.has(Number(error.code))) return true;
  if (error instanceof MongoServerError && isConflict(error)) return true;
  if (error.hasErrorLabel("RetryableWriteError") || error.hasErrorLabel("ResetPool")) return true;
  // A connection lost during insertMany arrives as a bulk error that names neither a code nor a document.
  return error instanceof MongoBulkWriteError && error.code === undefined && [error.writeErrors].flat().length === 0;
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof MongoParseError ? "invalid_argument" : "internal";
}
