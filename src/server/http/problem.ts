import { Code } from "@connectrpc/connect";
import { ApiError, type ApiErrorOptions } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import { ERROR_INFO, errorInfo } from "../call/error-info.js";

export interface HttpProblemOptions extends Pick<ApiErrorOptions, "isLasting" | "retryAfterS" | "current"> {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An ApiError as HTTP answers it, with its own status and headers where HTTP is more precise than gRPC's code. */
export class HttpProblem extends ApiError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, options: HttpProblemOptions = {}) {
    const { status, headers, ...rest } = options;
    super(code, message, rest);
    this.status = status ?? STATUS[code];
    this.headers = headers ?? {
      ...(this.status === 401 && { "www-authenticate": "Bearer" }),
      ...(this.retryAfterS !== undefined && { "retry-after": String(this.retryAfterS) }),
    };
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

/** The answer to anything that was thrown. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  return problemOf(toApiError(error));
}

/** The answer to an error of the API, with the status of its code unless another one is given. */
export function problemOf({ code, message, retryAfterS, current }: ApiError, status = STATUS[code]): HttpProblem {
  return new HttpProblem(code, message, { status, isLasting: retryAfterS === undefined, retryAfterS, current });
}

/**
 * The body of every error answer: a google.rpc.Status. Its details name the request, and what the caller expected to be
 * otherwise.
 */
export function problemJson({ code, message, current }: HttpProblem, requestId: string): string {
  const details: object[] = [{ "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId }];
  if (current !== undefined) details.push({ "@type": `type.googleapis.com/${ERROR_INFO}`, ...errorInfo(current) });
  return JSON.stringify({ code, message, details });
}
