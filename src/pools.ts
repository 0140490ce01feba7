import type { Call } from "./domain/call.js";
import type { Limits } from "./domain/limits.js";
import type { PoolLogger } from "./pool/pool-context.js";
import { RootPool } from "./pool/root-pool.js";
import type { StoreFigures } from "./storage/history/log-store.js";
import type { Storage } from "./storage/open-storage.js";
import { StorageManager } from "./storage/storage-manager.js";
import type { SweepOptions, SweepReport } from "./storage/storage-provider.js";

interface OpenPool {
  readonly rootPool: RootPool;
  uses: number;
  /**
   * When the namespace was last opened by a caller or a use of it ended; null when only background work has used it.
   */
  usedAtMs: number | null;
}

/** The root pools over one storage, one for each namespace in use. */
export class Pools {
  readonly #storage: Storage;
  readonly #limits: Limits;
  readonly #logger: PoolLogger;
  /** A steady clock in milliseconds. */
  readonly #clockMs: () => number;
  readonly #pools = new Map<string, OpenPool>();

  constructor(storage: Storage, limits: Limits, logger: PoolLogger, clockMs: () => number = () => performance.now()) {
    this.#storage = storage;
    this.#limits = limits;
    this.#logger = logger;
    this.#clockMs = clockMs;
  }

  /** The number of open namespaces. */
  get size(): number {
    return this.#pools.size;
  }

  /** The pool of a namespace, for callers that keep it for the life of the process and never call `closeIdle`. */
  for(namespace: string): RootPool {
    const open = this.#openPool(namespace);
    open.usedAtMs = this.#clockMs();
    return open.rootPool;
  }

  /** Opens a namespace, and keeps it open until `release` is called, once. */
  use(namespace: string): { readonly rootPool: RootPool; release(): void } {
    const open = this.#openPool(namespace);
    open.uses += 1;
    const release = () => {
      open.uses -= 1;
      open.usedAtMs = this.#clockMs();
    };
    return { rootPool: open.rootPool, release };
  }

  /**
   * Closes namespaces that nobody has used for this long: pending writes are finished and caches released. The next use
   * opens them again. Resolves to how many were closed.
   */
  async closeIdle(idleMs: number): Promise<number> {
    const latestMs = this.#clockMs() - idleMs;
    const idle = [...this.#pools].filter(([, { uses, usedAtMs }]) => uses === 0 && (usedAtMs ?? latestMs) <= latestMs);
    await Promise.all(idle.map(([namespace]) => this.#close(namespace)));
    return idle.length;
  }

  /** The namespaces that have sessions or todos, or had some that are still to be cleared away. */
  listNamespaces(): Promise<readonly string[]> {
    return this.#storage.listNamespaces();
  }

  /** Figures about the whole store; null where it has none. */
  figures(call?: Call): Promise<StoreFigures | null> {
    return this.#storage.figures(call);
  }

  /** What the store's settings endanger, as of the last ping, a sentence each. */
  risks(): readonly string[] {
    return this.#storage.risks();
  }

  /** Clears away what erasures have left behind, as `LogDatabase` says; undefined where that is nothing. */
  get vacuum(): Storage["vacuum"] {
    return this.#storage.vacuum;
  }

  /** Resolves when the store answers; rejects with `unavailable`. */
  async ping(): Promise<void> {
    const use = this.use("default");
    await use.rootPool.storage?.ping().finally(() => use.release());
  }

  /** Sweeps every namespace that the store knows, one after another. */
  async sweep(options: SweepOptions = {}): Promise<SweepReport> {
    let total: SweepReport = { sessions: 0, ranges: 0, attachments: 0, repairedForks: 0, orphans: 0, failed: 0 };
    for (const namespace of await this.#storage.listNamespaces()) {
      const before = total;
      const onProgress = options.onProgress && ((report: SweepReport) => options.onProgress?.(add(before, report)));
      const sweep = (rootPool: RootPool) => rootPool.sweep({ ...options, onProgress });
      total = add(before, await this.#inBackground(namespace, sweep));
    }
    return total;
  }

  /** Ends abandoned drafts in every namespace that the store knows; resolves to how many. */
  async endAbandonedDrafts(call: Call = {}): Promise<number> {
    let ended = 0;
    for (const namespace of await this.#storage.listNamespaces()) {
      ended += await this.#inBackground(namespace, (rootPool) => rootPool.endAbandonedDrafts(call));
    }
    return ended;
  }

  /** Ends followers, waits for running writes until the call's deadline at most, and closes the store. */
  async close(call?: Call): Promise<void> {
    await this.#storage.close(call);
  }

  /**
   * Runs work that does not count as use: a namespace that was not open before is closed again, unless a call has come
   * meanwhile.
   */
  async #inBackground<T>(namespace: string, work: (rootPool: RootPool) => Promise<T>): Promise<T> {
    const open = this.#openPool(namespace);
    open.uses += 1;
    try {
      return await work(open.rootPool);
    } finally {
      open.uses -= 1;
      if (open.uses === 0 && open.usedAtMs === null) await this.#close(namespace);
    }
  }

  #openPool(namespace: string): OpenPool {
    let open = this.#pools.get(namespace);
    if (open === undefined) {
      const storage = new StorageManager({ [this.#storage.name]: this.#storage.provider(namespace) });
      const rootPool = new RootPool({ storage, limits: this.#limits, logger: this.#logger });
      open = { rootPool, uses: 0, usedAtMs: null };
      this.#pools.set(namespace, open);
    }
    return open;
  }

  /** From now on, whoever asks for the namespace gets a new pool, as in another process. */
  async #close(namespace: string): Promise<void> {
    this.#pools.delete(namespace);
    await this.#storage.release(namespace);
  }
}

function add(a: SweepReport, b: SweepReport): SweepReport {
  return {
    sessions: a.sessions + b.sessions,
    ranges: a.ranges + b.ranges,
    attachments: (a.attachments ?? 0) + (b.attachments ?? 0),
    repairedForks: a.repairedForks + b.repairedForks,
    orphans: a.orphans + b.orphans,
    failed: a.failed + b.failed,
  };
}
