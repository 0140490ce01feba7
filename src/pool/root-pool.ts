import type { Call } from "../domain/call.js";
import { NotImplementedError } from "../domain/errors.js";
import { DEFAULT_LIMITS, type Limits } from "../domain/limits.js";
import { StorageManager } from "../storage/storage-manager.js";
import type { StorageProvider, SweepOptions, SweepReport } from "../storage/storage-provider.js";
import type { PoolContext, PoolLogger } from "./pool-context.js";
import { SessionPool } from "./session-pool.js";
import { TodoTracker } from "./todo-tracker.js";

export interface RootPoolOptions {
  /**
   * A bare provider is wrapped in a StorageManager. Without storage, reads return nothing and changes are
   * `unimplemented`.
   */
  readonly storage?: StorageManager | StorageProvider | undefined;
  /** Overrides single default limits. */
  readonly limits?: Partial<Limits> | undefined;
  /** Receives messages for the operator. The default is the console. */
  readonly logger?: PoolLogger | undefined;
}

const CONSOLE_LOGGER: PoolLogger = {
  warn: (details, message) => console.warn(message, details),
};

/** Owns everything of one namespace: storage, sessions and todos. */
export class RootPool implements PoolContext {
  readonly storage: StorageManager | undefined;
  readonly limits: Limits;
  readonly logger: PoolLogger;
  readonly sessions: SessionPool;
  /** The one tracker that all sessions share. */
  readonly todos: TodoTracker;

  constructor({ storage, limits, logger = CONSOLE_LOGGER }: RootPoolOptions = {}) {
    this.storage =
      storage === undefined || storage instanceof StorageManager ? storage : new StorageManager({ main: storage });
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.logger = logger;
    this.sessions = new SessionPool(this);
    this.todos = new TodoTracker(this);
  }

  /**
   * Removes what deleted and changed sessions have left behind. It may be stopped at any moment; the next sweep
   * continues. A session whose sweep fails is counted in `failed`, and the others are swept nevertheless.
   */
  async sweep(options?: SweepOptions): Promise<SweepReport> {
    if (this.storage === undefined) throw new NotImplementedError("RootPool", "sweeping without a storage manager");
    return await this.storage.sweep(options);
  }

  /**
   * Ends the drafts that nobody has extended for the provider's configured time, 15 minutes by default; resolves to
   * their number. Call it about once a minute, from any number of processes.
   */
  async endAbandonedDrafts(call?: Call): Promise<number> {
    if (this.storage === undefined) throw new NotImplementedError("RootPool", "drafts without a storage manager");
    return await this.storage.endAbandonedDrafts(call);
  }

  /**
   * Closes the storage: ends followers and waits for running writes until the call's deadline at most (5 s without
   * one).
   */
  async close(call?: Call): Promise<void> {
    await this.storage?.close(call);
  }
}
