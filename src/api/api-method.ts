import type {
  DescMethod,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Call } from "../domain/call.js";
import type { Limits } from "../domain/limits.js";
import type { RootPool } from "../pool/root-pool.js";

export const SCOPES = ["read", "write", "admin"] as const;

/** What a key permits, and what an RPC needs. Each scope includes the ones before it. */
export type Scope = (typeof SCOPES)[number];

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value);
}

/** The scopes that a ticket may have. */
export type TicketScope = Exclude<Scope, "admin">;

export function isTicketScope(value: unknown): value is TicketScope {
  return isScope(value) && value !== "admin";
}

/** What a ticket says. */
export interface TicketClaims {
  readonly namespace: string;
  /** The session that it opens. */
  readonly sessionId: string;
  readonly uid: string;
  readonly generation: number;
  readonly scope: TicketScope;
  /** The owner that its maker is bound to. */
  readonly owner?: string | undefined;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresMs: number;
}

/** What a front passes with each call: the pool of the namespace, and the caller's deadline and signal. */
export interface ApiContext extends Call {
  /** The caller's namespace, to which its page tokens belong. */
  readonly namespace: string;
  readonly rootPool: RootPool;
  readonly limits: Limits;
  /** Whether callers with limited access get no todo list, because it is the one list of all callers. */
  readonly hidesTodos?: boolean | undefined;
  /** Signs tickets; absent where the server has no secret for them. */
  readonly signTicket?: ((claims: TicketClaims) => Promise<string>) | undefined;
}

/**
 * One RPC, as every front mounts it. Exactly one of `unary`, `stream` and `upload` is set. Each may reject with
 * anything; `toApiError` turns it into an answer.
 */
export interface ApiMethod {
  readonly desc: DescMethod;
  readonly scope: Scope;
  /**
   * The scope that a ticket for the session in its `session_id` needs; `none` when no ticket permits it, because it
   * concerns more than the one session.
   */
  readonly ticket: TicketScope | "none";
  /** Whether only the gRPC port serves it. */
  readonly grpcOnly: boolean;
  /** Whether the audit log has a line about each call, rather than about refused ones alone. */
  readonly isAudited: boolean;
  /** Whether its stream is bytes that the service has, rather than events that it waits for. */
  readonly isTransfer?: boolean | undefined;
  readonly unary?: (request: Message, context: ApiContext) => Promise<Message>;
  /** Resolves once the stream has begun, when headers can be sent. */
  readonly stream?: (request: Message, context: ApiContext) => Promise<AsyncIterable<Message>>;
  /** Takes the first message of the client's stream, and those that follow. */
  readonly upload?: (first: Message, rest: AsyncIterable<Message>, context: ApiContext) => Promise<Message>;
}

export type Handler<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: ApiContext) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: ApiContext) => Promise<AsyncIterable<MessageShape<O>>>
      : M extends DescMethodClientStreaming<infer I, infer O>
        ? (
            first: MessageShape<I>,
            rest: AsyncIterable<MessageShape<I>>,
            context: ApiContext,
          ) => Promise<MessageShape<O>>
        : never;

/** All RPCs of a service. Leaving one out does not compile. */
export type ServiceMethods<S extends DescService> = {
  readonly [K in keyof S["method"]]: {
    readonly scope: Scope;
    readonly ticket: TicketScope | "none";
    readonly isTransfer?: true;
    /** Whether the audit log has a line about each call; if absent, it does unless the method only reads. */
    readonly isAudited?: false;
    readonly handle: Handler<S["method"][K]>;
  };
};
