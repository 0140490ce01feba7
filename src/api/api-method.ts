import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Call } from "../domain/call.js";
import type { Limits } from "../domain/limits.js";
import type { RootPool } from "../pool/root-pool.js";

/** What a key must be allowed to do to make a call. */
export type Scope = "read" | "write" | "admin";

/** What a front gives with each call: the namespace's pool, and what the caller allows. */
export interface ApiContext extends Call {
  readonly rootPool: RootPool;
  readonly limits: Limits;
}

/**
 * One RPC, as every front mounts it. Has exactly one of `unary` and `stream`. Both reject with anything; `toApiError`
 * makes an answer of it.
 */
export interface ApiMethod {
  readonly desc: DescMethod;
  readonly scope: Scope;
  /** Served by the gRPC port alone. */
  readonly grpcOnly: boolean;
  readonly unary?: (request: Message, context: ApiContext) => Promise<Message>;
  /** Resolves when the stream has begun: headers can go out. */
  readonly stream?: (request: Message, context: ApiContext) => Promise<AsyncIterable<Message>>;
}

export type Handler<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: ApiContext) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: ApiContext) => Promise<AsyncIterable<MessageShape<O>>>
      : never;

/** Every RPC of a service: one that is missing does not compile. */
export type ServiceMethods<S extends DescService> = {
  readonly [K in keyof S["method"]]: {
    readonly scope: Scope;
    readonly handle: Handler<S["method"][K]>;
  };
};
