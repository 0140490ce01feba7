import type { Message } from "@bufbuild/protobuf";
import type { ApiMethod } from "../api/method-table.js";
import type { Admission, AdmissionKind } from "./load/admissions.js";
import type { Connection } from "./load/connections.js";
import type { Principal, RequestFacts } from "./principal.js";

/** A request of a front, after authentication. */
export interface Arrival {
  readonly front: "grpc" | "connect" | "rest" | "openai";
  readonly principal: Principal;
  /** What it came by, where connections are counted. */
  readonly connection?: Connection | undefined;
  /** Absent in calls that no request stands behind. */
  readonly facts?: RequestFacts | undefined;
}

/** A request of a front that has been admitted. */
export interface FrontCall extends Arrival {
  /** What `Caller.admit` gave: the place of the call, and the memory that it holds. The front ends it when the answer has been sent. */
  readonly admission: Admission;
  /** Milliseconds since 1970 until which the client waits. Unary calls end after `limits.unaryDeadlineMs` in any case. */
  readonly deadlineMs?: number | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/**
 * The one way from a front to an implementation: scope, limits, deadline, implementation, error mapping, log, metric
 * and span wrap it once. Everything here rejects with ApiError only, ready to be sent.
 */
export interface Caller {
  /** Whose key the `authorization` header holds; `unauthenticated` without one. */
  authenticate(request: RequestFacts): Promise<Principal>;

  /**
   * Gives the call its place before its body is read: `permission_denied` when the key's scope does not cover the method,
   * `resource_exhausted` past a limit of the process or of the key, `unavailable` when the server stops.
   */
  admit(method: ApiMethod, arrival: Arrival): Admission;

  /** The same for what needs no key: health and pages. */
  admitAnyone(kind: AdmissionKind, connection: Connection | undefined): Admission;

  /**
   * Answers at the deadline with `deadline_exceeded`, also when the store hangs. The implementation is told when the client has gone;
   * one that has gone before is `canceled`.
   */
  unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message>;

  /**
   * Resolves when the stream has begun (send the headers then); iterating rejects with ApiError: `canceled`, `deadline_exceeded`,
   * `unauthenticated` when the credential expires or is withdrawn, `unavailable` when the server stops, or what the implementation ends
   * with. A front that stops reading calls `return()`.
   */
  stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>>;
}
