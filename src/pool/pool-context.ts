import type { Limits } from "../domain/limits.js";
import type { StorageManager } from "../storage/storage-manager.js";

/** Receives what an operator should know. A pino logger fits. */
export interface PoolLogger {
  warn(details: object, message: string): void;
}

/** What SessionPool and TodoTracker see of the root pool. */
export interface PoolContext {
  /** Without one, reads answer empty and changes are `unimplemented`. */
  readonly storage: StorageManager | undefined;
  readonly limits: Limits;
  readonly logger: PoolLogger;
}
