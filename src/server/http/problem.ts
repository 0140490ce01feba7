import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";

/** An ApiError as HTTP answers it, with its own status and headers where HTTP is more precise than gRPC's code. */
export class HttpProblem extends ApiError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, options: { status?: number; headers?: Record<string, string> } = {}) {
    super(code, message);
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

/** The answer to anything that was thrown. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const { code, message } = toApiError(error);
  return new HttpProblem(code, message);
}

/** The body of every error answer: a google.rpc.Status, whose details name the request. */
export function problemJson({ code, message }: HttpProblem, requestId: string): string {
  const requestInfo = { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId };
  return JSON.stringify({ code, message, details: [requestInfo] });
}
