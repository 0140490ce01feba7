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
  | "out_of_range"
  | "aborted"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated";

/** What a caller expected to be otherwise, as it is now: the position that a message would get, for example. */
export interface Current {
  readonly name: "position" | "removed_count" | "revision" | "version";
  readonly value: number;
}

/**
 * The only error below `api/`. Its message is written for the caller: it names the id and the limit, and contains no
 * driver text.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  /** Set in the `aborted` of a call that expected something else. */
  readonly current: Current | undefined;
  /** Set in the `resource_exhausted` of a quota: its name, as `quotaName` gives it. */
  readonly quota: string | undefined;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; current?: Current; quota?: string }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.current = options?.current;
    this.quota = options?.quota;
  }
}

/** A call expected something else. `text` says what, and what there is. */
export function notAsExpected(text: string, name: Current["name"], value: number): DomainError {
  return new DomainError("aborted", text, { current: { name, value } });
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
