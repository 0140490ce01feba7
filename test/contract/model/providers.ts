import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { type EngineOptions, LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogDatabase, LogStore } from "../../../src/storage/history/log-store.js";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import { poll } from "../../support/poll.js";
import type { LogStoreHarness } from "../log-store/subject.js";
import { without } from "../log-store/without.js";
import { DRAFT_COUNT } from "./naive-drafts.js";

/** Longer than all other waits of a run together. */
const DRAFT_TIMEOUT_MS = 1_000_000;
/** The same, but the drafts' timeout ends it. */
const UNDELETE_MS = 500_000;

/** The sizes are small, so that short sequences take every path. Each is a different mixture. */
export const SIZES: readonly EngineOptions[] = [
  {
    maxSegments: 6,
    mergeSegments: 5,
    mergeMessages: 4,
    chunk: 3,
    maxLogEntries: 5,
    maxEdits: 3,
    maxDropped: 4,
    maxHeads: 2,
    undeleteMs: UNDELETE_MS,
    usageSums: { rows: 3, sessions: 1, tableBytes: 1500 },
  },
  { maxSegments: 3, mergeSegments: 2, chunk: 2, maxLogEntries: 100, maxEdits: 1, maxDropped: 1, maxHeads: 1 },
  { maxSegments: 20, mergeSegments: 10, chunk: 100, maxLogEntries: 3, undeleteMs: UNDELETE_MS },
  {},
  // A quota that is never used up, so that bytes are counted.
  {
    maxSegments: 4,
    mergeSegments: 3,
    chunk: 3,
    maxLogEntries: 6,
    maxHeads: 2,
    quotas: { namespace: { bytes: 2 ** 40 } },
    undeleteMs: UNDELETE_MS,
  },
];

/** A limit so high that every timestamp of the range may be given. */
export const FUTURE_MS = 2 ** 53;
/** The first value of the clock that stamps messages. */
const NOW_MICROS = 5;
const STALE_MS = 10;
const SWEEP_AGE_MS = 100;
/** On a store with its own clock, for which the run has to wait. */
const OWN_SWEEP_AGE_MS = 1;

/** Three providers over one store, one of which a StorageManager wraps, and the clocks by which they run. */
export class Providers {
  readonly #database: LogDatabase;
  readonly #clocks: Clocks;
  readonly #sizes: EngineOptions;
  #all: readonly StorageOperations[] = [];
  /** For looking at what is stored. No provider uses this handle. */
  readonly store: LogStore;
  /** Whether the store has a clock of its own, which ignores that of the run and which nobody can move. */
  readonly hasOwnClock: boolean;
  #asked = 0;
  /** The last addition to counts. */
  #counting: Promise<void> = Promise.resolve();

  private constructor(database: LogDatabase, hasOwnClock: boolean, sizes: EngineOptions, clocks: Clocks) {
    this.#database = database;
    this.#clocks = clocks;
    this.#sizes = sizes;
    this.hasOwnClock = hasOwnClock;
    this.store = database.namespace("default");
    this.#begin();
  }

  #begin(changes: EngineOptions = {}): void {
    const options = { ...optionsOf(this.hasOwnClock, this.#sizes, this.#clocks), ...changes };
    const store = () => {
      const store = this.#database.namespace("default");
      const addBytes = store.addBytes.bind(store);
      store.addBytes = (...args) => {
        this.#counting = addBytes(...args);
        return this.#counting;
      };
      return store;
    };
    const provider = (over = store()) => new LogHistoryProvider(over, options);
    // One of them reads as it would on a store that leaves readNewest out.
    this.#all = [provider(), provider(without(store(), "readNewest")), new StorageManager({ main: provider() })];
  }

  static async open({ open, hasOwnClock = false }: LogStoreHarness, sizes: EngineOptions): Promise<Providers> {
    const clocks = { ms: 1, micros: NOW_MICROS };
    return new Providers(await open(() => clocks.ms), hasOwnClock, sizes, clocks);
  }

  /** The clock that stamps messages. */
  get nowMicros(): number {
    return this.#clocks.micros;
  }

  at(index: number): StorageOperations {
    return this.#all[index] as StorageOperations;
  }

  /** Each of the providers in turn. */
  any(): StorageOperations {
    return this.at(++this.#asked % this.#all.length);
  }

  /** Moves the clock a little, as every step does. */
  tick(): void {
    this.#clocks.ms += 1;
  }

  /** Moves the clock so far that everything read before counts as stale. */
  passStale(): void {
    this.#clocks.ms += STALE_MS;
  }

  /** The clock of the stores; one that nobody can move stands still. */
  get storeMs(): number {
    return this.hasOwnClock ? 0 : this.#clocks.ms;
  }

  /** Moves the clock so far that every open draft counts as abandoned, and no deleted session can be brought back. */
  passDraftTimeout(): void {
    this.#clocks.ms += DRAFT_TIMEOUT_MS;
  }

  /** Moves the clock that stamps messages. */
  passMicros(): void {
    this.#clocks.micros += 2;
  }

  /** Sweeps with one provider, long enough after the previous sweep to remove what that one has marked. */
  async sweep(provider: StorageOperations): Promise<void> {
    this.#clocks.ms += SWEEP_AGE_MS + 1;
    // A sweep removes what was written ten minutes before.
    await this.counted();
    await provider.sweep();
  }

  /** Waits until all bytes that were written are counted, which takes a second where timers do. */
  async counted(): Promise<void> {
    await setImmediate();
    await this.#counting;
  }

  /** Waits until the store's own clock has moved, if it has one. A sweep deletes only what was marked before that. */
  async passTime(): Promise<void> {
    if (!this.hasOwnClock) return;
    const beganMs = await this.store.timeMs();
    await poll(async () => (await this.store.timeMs()) > beganMs, "the store's clock moves");
  }

  /** Closes all providers, which write what they have noted until then, and opens others with other options. */
  async restart(changes: EngineOptions): Promise<void> {
    for (const provider of this.#all) await provider.close();
    this.#begin(changes);
  }

  async close(): Promise<void> {
    for (const provider of this.#all) await provider.close();
    await this.#database.close();
  }
}

interface Clocks {
  /** The clock of the processes and of a store that has none of its own. */
  ms: number;
  /** The clock that stamps messages. */
  micros: number;
}

function optionsOf(hasOwnClock: boolean, sizes: EngineOptions, clocks: Clocks): EngineOptions {
  return {
    nowMicros: () => clocks.micros,
    clockMs: () => clocks.ms,
    staleMs: STALE_MS,
    search: true,
    draftTimeoutMs: DRAFT_TIMEOUT_MS,
    limits: { futureMs: FUTURE_MS, draftCount: DRAFT_COUNT },
    sweepAgeMs: hasOwnClock ? OWN_SWEEP_AGE_MS : SWEEP_AGE_MS,
    // Moves the clock while somebody waits, because an operation may wait for whoever has sealed a log.
    pause: (ms) => {
      clocks.ms += Math.ceil(ms);
      return setImmediate();
    },
    startTimer: (_ms, work) => {
      const ended = new AbortController();
      setImmediate(undefined, { signal: ended.signal }).then(work, () => {});
      return () => ended.abort();
    },
    newUid: () => randomBytes(6).toString("hex"),
    heartbeatMs: 50,
    onAnomaly: (text, error) => expect.unreachable(`${text}: ${error}`),
    ...sizes,
  };
}
