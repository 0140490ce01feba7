/** Everything that can go wrong, in gRPC's words; `api/error-mapping.ts` maps each to its code. */
export type ErrorCode =
  | "canceled"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated";

/**
 * The only error below `api/`. Its message is meant for the caller: it names the id and the limit, and holds no driver
 * text.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A storage provider lacks an operation; the text names the provider's class, as the spec asks. */
export class NotImplementedError extends DomainError {
  constructor(className: string, operation: string) {
    super("unimplemented", `${className} does not support ${operation}`);
  }
}

export function notFound(what: string, id: string): DomainError {
  return new DomainError("not_found", `${what} ${JSON.stringify(id)} not found`);
}

export function invalidArgument(message: string): DomainError {
  return new DomainError("invalid_argument", message);
}
