import { DomainError } from "../../../src/domain/errors.js";
import { StorageProvider } from "../../../src/storage/storage-provider.js";
import type { ExpectedError } from "./row.js";

/** What goes wrong with every RPC alike, whatever is asked. */
export interface Failure {
  readonly what: string;
  /** Store behind the call; one that is well when absent. */
  readonly store?: StoreState;
  /** Key of the call; one that may do everything when absent. */
  readonly key?: "none" | "wrong" | "read";
  /** Whether the server has as many calls and streams as it takes. */
  readonly isServerBusy?: true;
  readonly error: ExpectedError;
}

export const STORE_STATES = ["lacking", "down", "broken", "hanging"] as const;
export type StoreState = (typeof STORE_STATES)[number];

export const FAILURES: readonly Failure[] = [
  { what: "no key", key: "none", error: { code: "unauthenticated" } },
  { what: "a wrong key", key: "wrong", error: { code: "unauthenticated" } },
  { what: "a key that may only read", key: "read", error: { code: "permission_denied" } },
  { what: "a provider that lacks the operation", store: "lacking", error: { code: "unimplemented" } },
  {
    what: "a store out of reach",
    store: "down",
    error: { code: "unavailable", message: "The store cannot be reached" },
  },
  { what: "a surprise", store: "broken", error: { code: "internal", message: "Internal error" } },
  { what: "a store that does not answer", store: "hanging", error: { code: "deadline_exceeded" } },
  { what: "too much at once", isServerBusy: true, error: { code: "resource_exhausted" } },
];

/** Implements nothing. */
class Lacking extends StorageProvider {}

export function failingProvider(state: StoreState): StorageProvider {
  const operations: Record<StoreState, (() => Promise<never>) | undefined> = {
    lacking: undefined,
    down: () => Promise.reject(new DomainError("unavailable", "The store cannot be reached")),
    broken: () => Promise.reject(new Error("a secret of the store")),
    hanging: () => new Promise(() => {}),
  };
  const operation = operations[state];
  if (operation === undefined) return new Lacking();
  return new Proxy(new Lacking(), {
    get: (provider, name) => (name === "constructor" || name === "close" ? Reflect.get(provider, name) : operation),
  });
}
