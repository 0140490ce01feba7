import type { Call } from "./domain/call.js";
import type { Limits } from "./domain/limits.js";
import type { PoolLogger } from "./pool/pool-context.js";
import { RootPool } from "./pool/root-pool.js";
import type { Storage } from "./storage/open-storage.js";
import { StorageManager } from "./storage/storage-manager.js";
import type { SweepOptions, SweepReport } from "./storage/storage-provider.js";

/** The root pools over one storage, one for each namespace that was asked for. */
export class Pools {
  readonly #storage: Storage;
  readonly #limits: Limits;
  readonly #logger: PoolLogger;
  readonly #pools = new Map<string, RootPool>();

  constructor(storage: Storage, limits: Limits, logger: PoolLogger) {
    this.#storage = storage;
    this.#limits = limits;
    this.#logger = logger;
  }

  for(namespace: string): RootPool {
    let pool = this.#pools.get(namespace);
    if (pool === undefined) {
      const storage = new StorageManager({ [this.#storage.name]: this.#storage.provider(namespace) });
      pool = new RootPool({ storage, limits: this.#limits, logger: this.#logger });
      this.#pools.set(namespace, pool);
    }
    return pool;
  }

  /** Resolves when the store answers; rejects with `unavailable`. */
  async ping(): Promise<void> {
    await this.for("default").storage?.ping();
  }

  /** Sweeps every namespace that the store knows, one after the other. */
  async sweep(options: SweepOptions = {}): Promise<SweepReport> {
    let total: SweepReport = { sessions: 0, ranges: 0, repairedForks: 0, orphans: 0 };
    for (const namespace of await this.#storage.listNamespaces()) {
      const before = total;
      const onProgress = options.onProgress && ((report: SweepReport) => options.onProgress?.(add(before, report)));
      total = add(before, await this.for(namespace).sweep({ ...options, onProgress }));
    }
    return total;
  }

  /** Ends abandoned drafts in every namespace that the store knows; resolves to how many. */
  async endAbandonedDrafts(call: Call = {}): Promise<number> {
    let ended = 0;
    for (const namespace of await this.#storage.listNamespaces()) {
      ended += await this.for(namespace).endAbandonedDrafts(call);
    }
    return ended;
  }

  /** Ends followers, waits for what is being written, at most until the call's deadline, and closes the store. */
  async close(call?: Call): Promise<void> {
    await this.#storage.close(call);
  }
}

function add(a: SweepReport, b: SweepReport): SweepReport {
  return {
    sessions: a.sessions + b.sessions,
    ranges: a.ranges + b.ranges,
    repairedForks: a.repairedForks + b.repairedForks,
    orphans: a.orphans + b.orphans,
  };
}
