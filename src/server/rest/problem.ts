import { Code } from "@connectrpc/connect";
import { type ApiError, toApiError } from "../../api/error-mapping.js";

/** An answer that is an error: gRPC's code, and where HTTP says it more exactly, its own status and headers. */
export class HttpProblem extends Error {
  readonly code: Code;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, options: { status?: number; headers?: Record<string, string> } = {}) {
    super(message);
    this.name = "HttpProblem";
    this.code = code;
    this.status = options.status ?? STATUS[code];
    this.headers = options.headers ?? STATUS_HEADERS[this.status] ?? {};
  }
}

const STATUS: Record<Code, number> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

const STATUS_HEADERS: Record<number, Record<string, string>> = {
  401: { "www-authenticate": "Bearer" },
  429: { "retry-after": "1" },
  503: { "retry-after": "1" },
};

export function badRequest(message: string): HttpProblem {
  return new HttpProblem(Code.InvalidArgument, message);
}

/** Makes a problem of whatever was thrown: an ApiError of the caller's, or a surprise, whose text is not sent. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const { code, message } = isApiError(error) ? error : toApiError(error);
  return new HttpProblem(code, message);
}

export function isExpected(error: unknown): boolean {
  return error instanceof HttpProblem || isApiError(error);
}

/** The body of every error answer. */
export function problemJson({ code, message }: HttpProblem): string {
  return JSON.stringify({ code, message, details: [] });
}

function isApiError(error: unknown): error is ApiError {
  if (typeof error !== "object" || error === null || !("code" in error) || !("details" in error)) return false;
  return typeof error.code === "number" && error.code in STATUS && Array.isArray(error.details);
}
