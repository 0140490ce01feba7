import type { ServerLimits } from "../../../src/config/config.js";
import { VALUE_BYTES } from "../../../src/config/server-limits.js";
import { DomainError } from "../../../src/domain/errors.js";
import { StorageProvider } from "../../../src/storage/storage-provider.js";
import type { ExpectedError, Row } from "./row.js";

/** A failure that every RPC can have, whatever its request. */
export interface Failure {
  readonly what: string;
  /** The state of the store that the call reaches; a working one when absent. */
  readonly store?: StoreState;
  /** The key of the call; one that may do everything when absent. */
  readonly key?: "none" | "wrong" | "read" | "write";
  /** Whether the server already has as many calls and streams as it takes. */
  readonly isServerBusy?: true;
  readonly error: ExpectedError;
}

export const STORE_STATES = ["lacking", "down", "broken", "hanging"] as const;
export type StoreState = (typeof STORE_STATES)[number];

export const FAILURES: readonly Failure[] = [
  { what: "no key", key: "none", error: { code: "unauthenticated" } },
  { what: "a wrong key", key: "wrong", error: { code: "unauthenticated" } },
  { what: "a key that may only read", key: "read", error: { code: "permission_denied" } },
  { what: "a key that may not administer", key: "write", error: { code: "permission_denied" } },
  { what: "a provider that lacks the operation", store: "lacking", error: { code: "unimplemented" } },
  {
    what: "a store that cannot be reached",
    store: "down",
    error: { code: "unavailable", message: "The store cannot be reached" },
  },
  { what: "an unexpected error of the store", store: "broken", error: { code: "internal", message: "Internal error" } },
  { what: "a store that does not answer", store: "hanging", error: { code: "deadline_exceeded" } },
  { what: "too many calls at once", isServerBusy: true, error: { code: "resource_exhausted" } },
];

/** The limit of bodies on the HTTP port of the server that must refuse a large one. The gRPC port takes 1 MiB more. */
export const SMALL_BODY_BYTES = 64 * 1024;

/** A request whose body is refused before it is parsed. */
export const OVERSIZED: Pick<Row, "rpc" | "request"> & { readonly error: ExpectedError } = {
  rpc: "MessageService.AppendMessage",
  request: {
    sessionId: "s",
    message: { info: { role: "user" }, parts: [{ type: "text", text: "x".repeat(2 * 1024 * 1024) }] },
  },
  error: { code: "resource_exhausted", message: "The body is larger than 65536 bytes" },
};

/** A request that holds 32 values, and the loads with which a server refuses it before it is decoded. */
export const MANY_VALUES: Pick<Row, "rpc" | "request"> & {
  readonly refused: readonly (readonly [limits: Partial<ServerLimits>, error: ExpectedError])[];
} = {
  rpc: "SessionService.ListSessions",
  request: { label: Array(32).fill("a=b") },
  refused: [
    [{ bodyValues: 31 }, { code: "invalid_argument", message: "The request holds more than 31 values" }],
    [
      { bufferedBytes: 31 * VALUE_BYTES },
      {
        code: "resource_exhausted",
        message: `The server may have ${31 * VALUE_BYTES} bytes of requests and answers at a time; try again later`,
      },
    ],
  ],
};

/** A provider that implements no operation. */
class Lacking extends StorageProvider {}

/** Makes a provider whose operations all fail in the same way. A hanging provider calls `onCall` for each call. */
export function failingProvider(state: StoreState, onCall: () => void = () => {}): StorageProvider {
  const operations: Record<StoreState, (() => Promise<never>) | undefined> = {
    lacking: undefined,
    down: () => Promise.reject(new DomainError("unavailable", "The store cannot be reached")),
    broken: () => Promise.reject(new Error("a secret of the store")),
    hanging: () => {
      onCall();
      return new Promise(() => {});
    },
  };
  const operation = operations[state];
  if (operation === undefined) return new Lacking();
  return new Proxy(new Lacking(), {
    get: (provider, name) => (name === "constructor" || name === "close" ? Reflect.get(provider, name) : operation),
  });
}
