/** Every kind of failure, by gRPC's names; `api/error-mapping.ts` maps each to its code. */
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
 * The only error below `api/`. Its message is written for the caller: it names the id and the limit, and contains no
 * driver text.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Thrown when a storage provider lacks an operation. The text names the provider's class, as the spec asks. */
export class NotImplementedError extends DomainError {
  constructor(className: string, operation: string) {
    super("unimplemented", `${className} does not support ${operation}`);
  }
}

export function notFound(what: string, id: string): DomainError {
  return new DomainError("not_found", `${what} ${JSON.stringify(id)} not found`);
}

/** A storage provider has returned something else than its contract asks for: not even `what`. */
export function noAnswer(what: string): DomainError {
  return new DomainError("internal", `The storage provider did not say ${what}`);
}

export function invalidArgument(message: string): DomainError {
  return new DomainError("invalid_argument", message);
}
