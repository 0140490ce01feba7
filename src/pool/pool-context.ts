import type { Limits } from "../domain/limits.js";
import type { StorageManager } from "../storage/storage-manager.js";

/** Receives messages for the operator. A pino logger fits. */
export interface PoolLogger {
  warn(details: object, message: string): void;
}

/** The part of the root pool that SessionPool and TodoTracker use. */
export interface PoolContext {
  /** Without one, reads return nothing and changes are `unimplemented`. */
  readonly storage: StorageManager | undefined;
  readonly limits: Limits;
  readonly logger: PoolLogger;
}
