import type { EngineOptions } from "../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../src/storage/history/log-store.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { StorageProvider } from "../../../src/storage/storage-provider.js";

/** A store that was opened for one case. */
export interface OpenedStorage {
  /**
   * Opens a provider over the store. It has its own caches, as a further process would. Where a store can be opened
   * more than once, every second provider uses a connection of its own.
   */
  provider(options: EngineOptions): StorageProvider;
  /** The content of all messages that the store still holds, as text. Absent where that cannot be found out. */
  readonly stored?: (() => Promise<string>) | undefined;
  /** A handle of the store that the providers keep their histories in. Absent where that is not a LogStore. */
  readonly store?: (() => LogStore) | undefined;
  /** Closes the store and throws it away. */
  close(): Promise<void>;
}

export interface StorageProviderHarness {
  /** Whether the store can find messages by their words. */
  readonly searches: boolean;
  /** Whether the provider keeps attachments. If absent, this is found out from `OpenedStorage.store`. */
  readonly attaches?: boolean | undefined;
  /**
   * Opens a new, empty store. `now` is the clock of the case, in milliseconds since 1970, for a store that has none of
   * its own.
   */
  open(now: () => number): Promise<OpenedStorage>;
}

/** What a case works on. Its members may be read only inside `it`. */
export interface StorageProviderSubject {
  readonly provider: StorageOperations;
  /** Whether the store can find messages by their words. The provider must have been opened with `search`. */
  readonly searches: boolean;
  /** Whether the store keeps attachments. */
  readonly attaches: boolean;
  /** A second provider over the same store. */
  readonly other: StorageOperations;
  /** The providers' clock, microseconds since 1970. It stands still until it is set. */
  nowMicros: number;
  /** Opens one more provider over the same store. */
  open(options?: EngineOptions): StorageOperations;
  /** The content of all messages that the store still holds, as text. Absent where that cannot be found out. */
  readonly stored?: (() => Promise<string>) | undefined;
  /** A handle of the store that the providers keep their histories in. Absent where that is not a LogStore. */
  readonly store?: (() => LogStore) | undefined;
}
