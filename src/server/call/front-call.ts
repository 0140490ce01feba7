import type { Message } from "@bufbuild/protobuf";
import type { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { Principal, RequestFacts } from "../auth/principal.js";
import type { Admission, AdmissionKind } from "../limits/admissions.js";
import type { Connection } from "../limits/connections.js";

/** A request of a front, after authentication. */
export interface Arrival {
  readonly front: "grpc" | "connect" | "rest" | "openai";
  readonly principal: Principal;
  /** The connection that it came by, where connections are counted. */
  readonly connection?: Connection | undefined;
  /** Absent for calls without a request. */
  readonly facts?: RequestFacts | undefined;
}

/** A request of a front that has been admitted. */
export interface FrontCall extends Arrival {
  /**
   * What `CallPipeline.admit` returned: the place of the call and the memory that it holds. The front ends it when the
   * answer has been sent.
   */
  readonly admission: Admission;
  /**
   * When the client stops waiting, in milliseconds since 1970. Unary calls end after `ServerLimits.unaryDeadlineMs` in
   * any case, and transfers when a step of the service takes longer than that.
   */
  readonly deadlineMs?: number | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/**
 * The only way from a front to an implementation. It wraps every call once in scope, limits, deadline, error mapping,
 * log, metric and span. Everything here rejects only with ApiError, ready to be sent.
 */
export interface CallPipeline {
  /**
   * The owner of the key in the `authorization` header, or of the ticket there or in the URL; `unauthenticated` without
   * a valid one. Is known at once where no keys are needed.
   */
  authenticate(request: RequestFacts): Promise<Principal> | Principal;

  /**
   * Notes in the audit log that a front has refused a request before it was a call, if that was for want of permission.
   */
  refused(request: RequestFacts, error: ApiError): void;

  /**
   * Gives the call its place before its body is read: `permission_denied` when the key's scope does not cover the
   * method, `resource_exhausted` beyond a limit of the process or of the key, `unavailable` when the server is
   * stopping.
   */
  admit(method: ApiMethod, arrival: Arrival): Admission;

  /** Gives a request that needs no key, of health or for a page, its place, as {@link admit} does for calls. */
  admitAnyone(kind: AdmissionKind, connection: Connection | undefined): Admission;

  /**
   * Answers `deadline_exceeded` at the deadline even if the store hangs. Tells the implementation when the client has
   * gone; if it had gone before, rejects with `canceled`.
   */
  unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message>;

  /**
   * Resolves when the stream has begun, which is when headers should be sent. Iterating rejects with ApiError:
   * `canceled`, `deadline_exceeded`, `unauthenticated` when the credential expires or is revoked, `unavailable` when
   * the server is stopping, or the error that ends the implementation. A front that stops reading calls `return()`.
   */
  stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>>;

  /**
   * Answers the stream of a client. Takes the messages after the first one as fast as the implementation does, and may
   * answer before it has taken all. Has no limit of time as a whole, but ends as a stream of the server does. A front
   * ends `rest` with an error when its client has gone, or pauses for longer than {@link longestPauseMs}.
   */
  upload(method: ApiMethod, first: Message, rest: AsyncIterable<Message>, call: FrontCall): Promise<Message>;
}
