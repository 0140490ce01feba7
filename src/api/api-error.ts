import { Code } from "@connectrpc/connect";

/**
 * The only error above the pool. It holds what the caller is told, on every front alike; its `cause` is only logged.
 */
export class ApiError extends Error {
  /** The code in gRPC's terms. */
  readonly code: Code;

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * `invalid_argument` for one field of a request, such as `messages[2].info.role`. An empty path means the whole body.
 */
export class FieldError extends ApiError {
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(Code.InvalidArgument, `${path || "body"}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }

  /** The same error with its path inside another value: the name of a field, or an index such as `[2]`. */
  within(name: string): FieldError {
    const joint = this.path === "" || this.path.startsWith("[") ? "" : ".";
    return new FieldError(name + joint + this.path, this.reason);
  }
}

export function invalidArgument(message: string, options?: { readonly cause?: unknown }): ApiError {
  return new ApiError(Code.InvalidArgument, message, options);
}
