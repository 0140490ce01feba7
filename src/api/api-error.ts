import { Code } from "@connectrpc/connect";

/** The only error above the pool: what a caller is told, the same on every front. Its `cause` is for the log alone. */
export class ApiError extends Error {
  /** gRPC's code. */
  readonly code: Code;

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * `invalid_argument` about one field of a request, such as `messages[2].info.role`. An empty path stands for the whole
 * body.
 */
export class FieldError extends ApiError {
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(Code.InvalidArgument, `${path || "body"}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }

  /** The same error as seen by whoever holds the value under this name: a field, or an index such as `[2]`. */
  within(name: string): FieldError {
    const joint = this.path === "" || this.path.startsWith("[") ? "" : ".";
    return new FieldError(name + joint + this.path, this.reason);
  }
}

export function invalidArgument(message: string, options?: { readonly cause?: unknown }): ApiError {
  return new ApiError(Code.InvalidArgument, message, options);
}
