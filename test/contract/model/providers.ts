import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { type EngineOptions, LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../src/storage/history/log-store.js";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import { DRAFT_COUNT } from "./naive-drafts.js";

/** A store that was opened for one sequence. */
export interface OpenedStore {
  /** Makes a handle. Each provider gets its own. */
  store(): LogStore;
  /** The age at which a sweep removes something, on a store that has its own clock. */
  readonly sweepAgeMs?: number | undefined;
  /** Waits until the store's own clock has moved. */
  passTime?(): Promise<void>;
  close(): Promise<void>;
}

/** Opens an empty store. `now`: the clock in milliseconds, for a store that has none of its own. */
export type OpenStore = (nowMs: () => number) => Promise<OpenedStore>;

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
  },
  { maxSegments: 3, mergeSegments: 2, chunk: 2, maxLogEntries: 100, maxEdits: 1, maxDropped: 1, maxHeads: 1 },
  { maxSegments: 20, mergeSegments: 10, chunk: 100, maxLogEntries: 3 },
  {},
];

/** A limit so high that every timestamp of the range may be given. */
export const FUTURE_MS = 2 ** 53;
/** The first value of the clock that stamps messages. */
const NOW_MICROS = 5;
/** A time longer than all other waits of a run together. */
const DRAFT_TIMEOUT_MS = 1_000_000;
const STALE_MS = 10;
const SWEEP_AGE_MS = 100;

/** Three providers over one store, one of which a StorageManager wraps, and the clocks by which they run. */
export class Providers {
  readonly #opened: OpenedStore;
  readonly #clocks: Clocks;
  readonly #all: readonly StorageOperations[];
  /** For looking at what is stored. No provider uses this handle. */
  readonly store: LogStore;
  #asked = 0;

  private constructor(opened: OpenedStore, sizes: EngineOptions, clocks: Clocks) {
    this.#opened = opened;
    this.#clocks = clocks;
    this.store = opened.store();
    const provider = () => new LogHistoryProvider(opened.store(), optionsOf(opened, sizes, clocks));
    this.#all = [provider(), provider(), new StorageManager({ main: provider() })];
  }

  static async open(open: OpenStore, sizes: EngineOptions): Promise<Providers> {
    const clocks = { ms: 1, micros: NOW_MICROS };
    return new Providers(await open(() => clocks.ms), sizes, clocks);
  }

  /** The clock that stamps messages. */
  get nowMicros(): number {
    return this.#clocks.micros;
  }

  /** Whether the store has a clock of its own, which ignores that of the run and which nobody can move. */
  get hasOwnClock(): boolean {
    return this.#opened.sweepAgeMs !== undefined;
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

  /** Moves the clock so far that every open draft counts as abandoned. */
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
    await provider.sweep();
  }

  /** Waits until the store's own clock has moved, if it has one. */
  async passTime(): Promise<void> {
    await this.#opened.passTime?.();
  }

  async close(): Promise<void> {
    for (const provider of this.#all) await provider.close();
    await this.#opened.close();
  }
}

interface Clocks {
  /** The clock of the processes and of a store that has none of its own. */
  ms: number;
  /** The clock that stamps messages. */
  micros: number;
}

function optionsOf({ sweepAgeMs }: OpenedStore, sizes: EngineOptions, clocks: Clocks): EngineOptions {
  return {
    nowMicros: () => clocks.micros,
    clockMs: () => clocks.ms,
    staleMs: STALE_MS,
    search: true,
    draftTimeoutMs: DRAFT_TIMEOUT_MS,
    limits: { futureMs: FUTURE_MS, draftCount: DRAFT_COUNT },
    sweepAgeMs: sweepAgeMs ?? SWEEP_AGE_MS,
    // Moves the clock while somebody waits, because an operation may wait for whoever has sealed a log.
    pause: (ms) => {
      clocks.ms += Math.ceil(ms);
      return new Promise((resolve) => setImmediate(resolve));
    },
    newUid: () => randomBytes(6).toString("hex"),
    heartbeatMs: 50,
    onAnomaly: (text, error) => expect.unreachable(`${text}: ${error}`),
    ...sizes,
  };
}
