import type { Call } from "../../src/domain/call.js";
import { DomainError } from "../../src/domain/errors.js";
import type { EngineOptions } from "../../src/storage/history/history-options.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { AtomicSimStore } from "./atomic-sim-store.js";
import type { SimClock } from "./clocks.js";
import { PooledProvider } from "./pooled.js";
import { NOW_MICROS, type ProfileName } from "./profiles.js";
import type { Random } from "./random.js";
import type { Scheduler, SimProcess } from "./scheduler.js";
import { SimDatabase } from "./sim-database.js";
import type { SimOptions } from "./sim-run.js";
import type { SimStore } from "./sim-store.js";
import { directSteps, type Steps } from "./steps.js";
import { WeakSimStore } from "./weak-sim-store.js";
import { DEADLINE_MS, DRAFT_TIMEOUT_MS, STALE_MS, SWEEP_AGE_MS, TOUCH_DELAY_MS } from "./weather.js";

/** The engine of a process: the operations that its clients call, and the provider that carries them out. */
export interface Engine {
  readonly clients: PooledProvider;
  readonly provider: LogHistoryProvider;
}

/** A process and its clock. */
export interface Instance extends Engine {
  readonly process: SimProcess;
  readonly now: ServiceTime;
}

/** A call of a process, which ends when its caller gives up. */
export type Work = (provider: LogHistoryProvider, call: Call) => Promise<unknown>;

/**
 * The time that a process stamps messages with, in microseconds. It stands still while an operation runs, so that the
 * checker knows the timestamp of each message.
 */
export class ServiceTime {
  readonly #read: () => number;
  #now: number;
  #operations = 0;

  constructor(read: () => number) {
    this.#read = read;
    this.#now = read();
  }

  get micros(): number {
    return this.#now;
  }

  begin(): number {
    if (this.#operations++ === 0) this.#now = this.#read();
    return this.#now;
  }

  end(): void {
    this.#operations--;
  }
}

/** The processes of a run on one database. Each has its own engine and caches. */
export class Fleet {
  readonly db: SimDatabase;
  readonly slots: Instance[] = [];
  /** The anomalies that the engines have reported. */
  readonly anomalies: string[] = [];
  readonly #options: SimOptions;
  readonly #profile: ProfileName;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #storeClock: SimClock;
  readonly #hasWrongClocks: boolean;
  readonly #sizes: EngineOptions;
  readonly #sealSizes: { readonly block: number; readonly wall: number };
  #uids = 0;
  #processes = 0;

  constructor(
    options: SimOptions,
    profile: ProfileName,
    random: Random,
    scheduler: Scheduler,
    hasWrongClocks: boolean,
  ) {
    this.#options = options;
    this.#profile = profile;
    this.#random = random;
    this.#scheduler = scheduler;
    this.#hasWrongClocks = hasWrongClocks;
    this.#storeClock = scheduler.clock(options.store === "atomic" ? "wall" : "operations", 0);
    this.db = new SimDatabase(() => this.#storeClock.read());
    this.db.updateSlackMicros = TOUCH_DELAY_MS * 1000;
    if (options.hasFeed) this.db.keepFeed();
    this.#sizes = {
      maxSegments: random.pick(profile === "grace" ? [2] : [4, 6, 256]),
      mergeSegments: random.pick([2, 4]),
      chunk: random.pick([2, 3]),
      maxLogEntries: random.pick([3, 1_000_000, 1_000_000]),
      editorWaitMs: random.pick([0, 1, 20]),
      maxEdits: random.pick([1, 64]),
      maxDropped: random.pick([3, 256]),
      maxFollowerBacklog: random.pick([2, 1000]),
      draftTimeoutMs: DRAFT_TIMEOUT_MS,
    };
    this.#sealSizes = { block: random.pick([1, 2, 4]), wall: random.pick([2, 8]) };
  }

  start(): Instance {
    const random = this.#random;
    const scheduler = this.#scheduler;
    // Some processes read the newest messages with one request, and others with several.
    const readsNewest = this.#processes % 2 === 1;
    const process = scheduler.spawn(`p${this.#processes++}`, random.pick([0, 0, 150, -250, 5 * SWEEP_AGE_MS]));
    const fixed = random.pick([NOW_MICROS, NOW_MICROS, 3, 7]);
    // When clocks are wrong, the milliseconds of the wall clock count as microseconds, so that few messages have the
    // same time.
    const now = new ServiceTime(() => (this.#hasWrongClocks ? Math.floor(process.wall.read()) : fixed));
    // Runs about lists depend on the times of changes. All their messages have timestamps, so the time need not stand
    // still.
    const moving = () => Math.floor(process.wall.read() * 1000);
    const store = this.#storeOn(scheduler.stepsOf(process));
    const engine = this.#engine(readsNewest ? store.withNewest() : store, {
      nowMicros: this.#profile === "lists" ? moving : () => now.micros,
      clockMs: () => process.steady.read(),
      pause: (ms, signal) => scheduler.pause(process, ms, signal),
      startTimer: (ms, work) => scheduler.startTimer(process, ms, work),
    });
    return { process, now, ...engine };
  }

  /** Resolves to the answer of the process in a slot, to the code of a refusal, or to `died`. */
  call(slot: number, work: Work): Promise<unknown> {
    const { provider, process } = this.slots[slot] as Instance;
    // A store may be so slow that every turn of a call takes longer than it may.
    const caller = new AbortController();
    const stop = this.#scheduler.setDeadline(DEADLINE_MS, () => caller.abort());
    const answer = work(provider, { signal: caller.signal })
      .finally(stop)
      .catch((error: unknown) => {
        if (error instanceof DomainError && error.code !== "internal") return error.code;
        throw error;
      });
    return Promise.race([answer, process.died]);
  }

  /**
   * Makes the store's clock right again and moves it far ahead, so that everything that was dropped becomes old enough
   * to be swept.
   */
  healStoreClock(): void {
    this.#storeClock.heal(this.#storeClock.read() + 100 * SWEEP_AGE_MS);
  }

  /** Starts a process that is alone, with these options. Each of its store calls happens at once. */
  quiet(more: EngineOptions = {}): Engine {
    let calls = 0;
    const direct = directSteps(() => this.#scheduler.nowMs);
    const steps: Steps = {
      ...direct,
      run: (name, args, effect) => {
        if (++calls > 20_000) throw new Error("A process that runs alone does not come to an end");
        return direct.run(name, args, effect);
      },
    };
    return this.#engine(this.#storeOn(steps), {
      nowMicros: () => NOW_MICROS,
      clockMs: () => this.#scheduler.nowMs,
      pause: async (ms, signal) => {
        if (!signal?.aborted) this.#scheduler.nowMs += ms;
      },
      startTimer: () => () => {},
      ...more,
    });
  }

  #storeOn(steps: Steps): SimStore {
    return this.#options.store === "atomic"
      ? new AtomicSimStore(this.db, steps)
      : new WeakSimStore(this.db, steps, this.#sealSizes, STALE_MS);
  }

  #engine(store: SimStore, time: EngineOptions): Engine {
    const name = () => `u${String(++this.#uids).padStart(4, "0")}`;
    const options: EngineOptions = {
      ...this.#sizes,
      ...this.#options.engine,
      ...time,
      random: () => this.#random.next(),
      newUid: name,
      newMessageId: name,
      staleMs: STALE_MS,
      sweepAgeMs: SWEEP_AGE_MS,
      touchDelayMs: TOUCH_DELAY_MS,
      attachmentIdleMs: SWEEP_AGE_MS,
      pollMs: { first: 5, most: 20 },
      heartbeatMs: 60,
      onAnomaly: (text, error) => this.anomalies.push(`${text}${error === undefined ? "" : `: ${String(error)}`}`),
    };
    const provider = new LogHistoryProvider(store, options);
    return { provider, clients: new PooledProvider(provider) };
  }

  replace(dead: SimProcess): void {
    const slot = this.slots.findIndex(({ process }) => process === dead);
    if (slot >= 0) this.slots[slot] = this.start();
  }
}
