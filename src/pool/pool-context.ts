import type { Limits } from "../domain/limits.js";
import type { StorageManager } from "../storage/storage-manager.js";

/** Where the pool says what an operator should know. A pino logger is one. */
export interface PoolLogger {
  warn(details: object, message: string): void;
}

/** What SessionPool and TodoTracker see of the root pool. */
export interface PoolContext {
  /** Absent: reads answer empty, changes raise. */
  readonly storage: StorageManager | undefined;
  readonly limits: Limits;
  readonly logger: PoolLogger;
}
