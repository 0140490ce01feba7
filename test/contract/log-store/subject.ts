import type { LogDatabase, LogStore } from "../../../src/storage/history/log-store.js";

export interface LogStoreHarness {
  /** A new, empty database. The suite closes it after the case. */
  open(): Promise<LogDatabase>;
  /** Whether `append` stores all entries or none, and only directly after the last place of a log. */
  readonly atomicAppend: boolean;
  /** Moves the store's clock. Absent when nobody can. */
  advance?(ms: number): void | Promise<void>;
}

/** What a case works on. Its members may be read only inside `it`. */
export interface LogStoreSubject {
  readonly harness: LogStoreHarness;
  readonly database: LogDatabase;
  /** A handle of the namespace `default`. */
  readonly store: LogStore;
}
