import { Code } from "@connectrpc/connect";
import type { Current } from "../domain/errors.js";

/**
 * How many characters of a message are sent. gRPC sends it in a header, percent-encoded, and many clients refuse
 * headers above 8 KB. A server cannot even send headers above 64 KB, and its client would wait until its deadline.
 */
const MAX_MESSAGE_LENGTH = 800;
/** How much of a long message is kept from its end, where it tends to say what is allowed. */
const KEPT_OF_END = 200;

/** After how many seconds a caller may try again, unless something else is known. */
const RETRY_AFTER_S = 1;

export interface ApiErrorOptions {
  readonly cause?: unknown;
  /** Whether waiting does not help, although the code alone would suggest it. */
  readonly isLasting?: boolean;
  /** After how many seconds the call may succeed, where that is known; otherwise 1. */
  readonly retryAfterS?: number | undefined;
  readonly current?: Current | undefined;
  /** The name of the quota that refuses the call. */
  readonly quota?: string | undefined;
}

/**
 * The only error above the pool. It holds what the caller is told, on every front alike; its `cause` is only logged. A
 * long message, which quotes what a client sent, loses its middle.
 */
export class ApiError extends Error {
  /** The code in gRPC's terms. */
  readonly code: Code;
  /** After how many seconds the same call may succeed; undefined when waiting does not help. Every front sends it. */
  readonly retryAfterS: number | undefined;

  /** What the caller expected to be otherwise. Every front sends it. */
  readonly current: Current | undefined;

  /** The name of the quota that refuses the call, for metrics. */
  readonly quota: string | undefined;

  constructor(code: Code, message: string, options: ApiErrorOptions = {}) {
    const { isLasting = false, retryAfterS = RETRY_AFTER_S, current, quota, ...rest } = options;
    super(shortened(message), rest);
    this.current = current;
    this.quota = quota;
    this.name = new.target.name;
    this.code = code;
    const mayPass = !isLasting && (code === Code.ResourceExhausted || code === Code.Unavailable);
    this.retryAfterS = mayPass ? retryAfterS : undefined;
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

  /** This error with its path inside another value: the name of a field, or an index such as `[2]`. */
  within(name: string): FieldError {
    const joint = this.path === "" || this.path.startsWith("[") ? "" : ".";
    return new FieldError(name + joint + this.path, this.reason);
  }
}

export function invalidArgument(message: string, options?: { readonly cause?: unknown }): ApiError {
  return new ApiError(Code.InvalidArgument, message, options);
}

function shortened(message: string): string {
  if (message.length <= MAX_MESSAGE_LENGTH) return message;
  const begin = message.slice(0, MAX_MESSAGE_LENGTH - KEPT_OF_END);
  // The cut may have split a surrogate pair. Buffer.from replaces the halves, so that the text stays well-formed.
  return Buffer.from(`${begin}…${message.slice(-KEPT_OF_END)}`).toString();
}

/** gRPC's name of a code in lower case; `ok` for 0. */
export function codeName(code: number): string {
  const name = Code[code];
  return name === undefined ? "ok" : name.replace(/(?!^)[A-Z]/g, "_$&").toLowerCase();
}
