import { Code } from "@connectrpc/connect";
import { DomainError, type ErrorCode } from "../domain/errors.js";
import { ApiError } from "./api-error.js";

const CODES: Record<ErrorCode, Code> = {
  canceled: Code.Canceled,
  invalid_argument: Code.InvalidArgument,
  deadline_exceeded: Code.DeadlineExceeded,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  out_of_range: Code.OutOfRange,
  aborted: Code.Aborted,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  unauthenticated: Code.Unauthenticated,
};

const INTERNAL_TEXT = "Internal error";

/**
 * Turns anything that was thrown into an ApiError. Whatever is neither an ApiError nor a DomainError becomes
 * `internal`, and its text is not sent.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (!(error instanceof DomainError)) return new ApiError(Code.Internal, INTERNAL_TEXT, { cause: error });
  const { code, message, cause, current, quota } = error;
  // What a session holds, such as its open drafts, does not pass by itself, as too much work of the server does.
  const isLasting = code === "resource_exhausted";
  return new ApiError(CODES[code], message, { ...(cause !== undefined && { cause }), isLasting, current, quota });
}
