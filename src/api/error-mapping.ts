import { Code } from "@connectrpc/connect";
import { DomainError, type ErrorCode } from "../domain/errors.js";

/** What a caller is told: the same on every front. */
export interface ApiError {
  /** gRPC's code. */
  readonly code: Code;
  readonly message: string;
  readonly details: readonly never[];
  /** For the log alone: what went wrong underneath, or the unexpected error itself. */
  readonly cause?: unknown;
}

const CODES: Record<ErrorCode, Code> = {
  canceled: Code.Canceled,
  invalid_argument: Code.InvalidArgument,
  deadline_exceeded: Code.DeadlineExceeded,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  aborted: Code.Aborted,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  unauthenticated: Code.Unauthenticated,
};

const INTERNAL_TEXT = "Internal error";

/** Makes an answer of anything that was thrown. What is not a DomainError is internal, and its text is not sent. */
export function toApiError(error: unknown): ApiError {
  if (!(error instanceof DomainError)) {
    return { code: Code.Internal, message: INTERNAL_TEXT, details: [], cause: error };
  }
  const answer = { code: CODES[error.code], message: error.message, details: [] };
  return error.cause === undefined ? answer : { ...answer, cause: error.cause };
}
