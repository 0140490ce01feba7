import type { Message } from "@bufbuild/protobuf";
import type { ApiMethod } from "../api/method-table.js";

/** What a key may do; each includes the ones before it. */
export type Scope = "read" | "write" | "admin";

/** Who calls: made from the headers of a request by `Caller.authenticate`. */
export interface Principal {
  /** Name of the key, for logs; never the key. */
  readonly name: string;
  /** What the caller sees: two namespaces share nothing. */
  readonly namespace: string;
  readonly scope: Scope;
}

/** One request of a front, after authentication. */
export interface FrontCall {
  readonly front: "grpc" | "connect" | "rest";
  readonly principal: Principal;
  /** Milliseconds since 1970 until which the client waits. Unary calls end after `limits.unaryDeadlineMs` in any case. */
  readonly deadlineMs?: number | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Reads a request header; only the trace context is looked up. */
  readonly header?: ((name: string) => string | undefined) | undefined;
}

/**
 * The one way from a front to an implementation: scope, in-flight limit, deadline, implementation, error mapping, log, metric
 * and span wrap it once. Everything here rejects with ApiError only, ready to be sent.
 */
export interface Caller {
  /** Whose key the `authorization` header holds; `unauthenticated` without one. `header` takes lower-case names. */
  authenticate(header: (name: string) => string | undefined): Promise<Principal>;

  /**
   * Answers at the deadline with `deadline_exceeded`, also when the store hangs. The implementation is told when the client has gone;
   * one that has gone before is `canceled`.
   */
  unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message>;

  /**
   * Resolves when the stream has begun (send the headers then); iterating rejects with ApiError: `canceled`, `deadline_exceeded`,
   * `unavailable` when the server stops, or what the implementation ends with. A front that stops reading calls `return()`.
   */
  stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>>;
}
