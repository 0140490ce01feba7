import { type ApiError, toApiError } from "../api/error-mapping.js";

/** What a client is told of whatever was thrown: what the caller rejected with as it is, all else mapped. */
export function answerOf(error: unknown): ApiError {
  return isApiError(error) ? error : toApiError(error);
}

function isApiError(error: unknown): error is ApiError {
  return (
    typeof error === "object" && error !== null && !(error instanceof Error) && "code" in error && "details" in error
  );
}
