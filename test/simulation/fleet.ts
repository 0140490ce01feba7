import { HistoryContext } from "../../src/storage/history/heads.js";
import type { HistoryOptions } from "../../src/storage/history/history-options.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { Reader } from "../../src/storage/history/reader.js";
import { AtomicSimStore } from "./atomic-sim-store.js";
import type { FollowParts } from "./follower.js";
import type { Random } from "./random.js";
import type { Scheduler, SimProcess } from "./scheduler.js";
import { SimDatabase } from "./sim-database.js";
import type { SimOptions } from "./sim-run.js";
import type { SimStore } from "./sim-store.js";
import { directSteps, type Steps } from "./steps.js";
import { WeakSimStore } from "./weak-sim-store.js";
import { STALE_MS, SWEEP_AGE_MS } from "./weather.js";

export const NOW_MICROS = 5;

export interface Engine {
  readonly provider: LogHistoryProvider;
  readonly parts: FollowParts;
  readonly nowMicros: number;
}

export type Instance = Engine & { readonly process: SimProcess };

/** The processes of a run, each with an engine and caches of its own, on one database. */
export class Fleet {
  readonly db: SimDatabase;
  readonly slots: Instance[] = [];
  /** What the engines said was odd. */
  readonly anomalies: string[] = [];
  readonly #options: SimOptions;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #sizes: HistoryOptions;
  readonly #sealSizes: { readonly block: number; readonly wall: number };
  #uids = 0;
  #processes = 0;

  constructor(options: SimOptions, random: Random, scheduler: Scheduler) {
    this.#options = options;
    this.#random = random;
    this.#scheduler = scheduler;
    this.db = new SimDatabase(() => scheduler.nowMs, options.without);
    this.#sizes = {
      maxSegments: random.pick([4, 6, 256]),
      mergeSegments: random.pick([2, 4]),
      chunk: random.pick([2, 3]),
      maxLogEntries: random.pick([3, 1_000_000, 1_000_000]),
      editorWaitMs: random.pick([0, 1, 20]),
      maxEdits: random.pick([1, 64]),
      maxDropped: random.pick([3, 256]),
    };
    this.#sealSizes = { block: random.pick([1, 2, 4]), wall: random.pick([2, 8]) };
  }

  start(): Instance {
    const random = this.#random;
    const process = this.#scheduler.spawn(`p${this.#processes++}`, random.pick([0, 0, 150, -250, 5 * SWEEP_AGE_MS]));
    const nowMicros = random.pick([NOW_MICROS, NOW_MICROS, 3, 7]);
    const pause = (ms: number, signal?: AbortSignal) => this.#scheduler.pause(process, ms, signal);
    const store = this.#storeOn(this.#scheduler.stepsOf(process));
    return { process, ...this.#engine(store, nowMicros, process.skewMs, pause) };
  }

  /** One that is alone: each of its store calls happens at once. */
  quiet(): Engine {
    let calls = 0;
    const direct = directSteps(() => this.#scheduler.nowMs);
    const steps: Steps = {
      ...direct,
      run: (name, args, effect) => {
        if (++calls > 20_000) throw new Error("A quiet process never comes to an end");
        return direct.run(name, args, effect);
      },
    };
    const pause = async (ms: number) => {
      this.#scheduler.nowMs += ms;
    };
    return this.#engine(this.#storeOn(steps), NOW_MICROS, 0, pause);
  }

  #storeOn(steps: Steps): SimStore {
    return this.#options.store === "atomic"
      ? new AtomicSimStore(this.db, steps)
      : new WeakSimStore(this.db, steps, this.#sealSizes);
  }

  #engine(
    store: SimStore,
    nowMicros: number,
    skewMs: number,
    pause: (ms: number, signal?: AbortSignal) => Promise<void>,
  ): Engine {
    const name = () => `u${String(++this.#uids).padStart(4, "0")}`;
    const options: HistoryOptions = {
      ...this.#sizes,
      nowMicros: () => nowMicros,
      clockMs: () => this.#scheduler.nowMs + skewMs,
      pause,
      random: () => this.#random.next(),
      newUid: name,
      newMessageId: name,
      staleMs: STALE_MS,
      sweepAgeMs: SWEEP_AGE_MS,
      touchDelayMs: Number.POSITIVE_INFINITY,
      without: this.#options.without ?? [],
      onAnomaly: (text, error) => this.anomalies.push(`${text}${error === undefined ? "" : `: ${String(error)}`}`),
    };
    const context = new HistoryContext(store, options);
    return {
      nowMicros,
      provider: new LogHistoryProvider(store, options),
      parts: { context, reader: new Reader(context) },
    };
  }

  replace(dead: SimProcess): void {
    const slot = this.slots.findIndex(({ process }) => process === dead);
    if (slot >= 0) this.slots[slot] = this.start();
  }
}
