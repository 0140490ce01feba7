import type { JsonValue } from "@bufbuild/protobuf";

export type Json = { readonly [key: string]: JsonValue };

/** `Service.Method`. */
export type Rpc = `${string}Service.${string}`;

export type Call = readonly [rpc: Rpc, request: Json];

/** What a call must end with, on every front. */
export type Expected =
  /** The whole answer as proto3 JSON. "$any" stands for a value that differs from run to run. */
  | { readonly answer: Json }
  /** The first events of a stream. */
  | { readonly events: readonly Json[] }
  | { readonly error: ExpectedError };

export interface ExpectedError {
  readonly code: ErrorName;
  /** When absent, any text that is not empty. It must be the same on every front. */
  readonly message?: string;
}

/** The error codes of docs/api.md, by gRPC's numbers. */
export const ERROR_NAMES = {
  1: "canceled",
  3: "invalid_argument",
  4: "deadline_exceeded",
  5: "not_found",
  6: "already_exists",
  7: "permission_denied",
  8: "resource_exhausted",
  9: "failed_precondition",
  10: "aborted",
  11: "out_of_range",
  12: "unimplemented",
  13: "internal",
  14: "unavailable",
  16: "unauthenticated",
} as const;

export type ErrorName = (typeof ERROR_NAMES)[keyof typeof ERROR_NAMES];

/** One call, and the outcome that it must have on every front. */
export type Row = Expected & {
  readonly rpc: Rpc;
  readonly what: string;
  /** Calls that were made before. */
  readonly given?: readonly Call[];
  readonly request: Json;
};
