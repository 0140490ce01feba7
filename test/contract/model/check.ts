import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { type HistoryOptions, LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../src/storage/history/log-store.js";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import { NaiveStorageProvider, naiveState } from "../model.js";
import { type Follower, follow, heldOf } from "./follow.js";
import type { Operation, Step } from "./operations.js";
import { SESSIONS } from "./operations.js";
import { type Outcome, outcomeOf, type Slots } from "./run.js";

/** A store that was opened for one sequence. */
export interface OpenedStore {
  /** A handle of its own for each provider. */
  store(): LogStore;
  /** How old what is swept must be, for a store that has a clock of its own. */
  readonly sweepAgeMs?: number | undefined;
  /** Waits until the clock of such a store has moved. */
  passTime?(): Promise<void>;
  close(): Promise<void>;
}

/** Opens an empty store whose clock is the one given, in milliseconds, if it takes one. */
export type OpenStore = (nowMs: () => number) => Promise<OpenedStore>;

/** Small, so that short sequences take every path; each is a different mixture. */
export const SIZES: readonly HistoryOptions[] = [
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

const NOW_MICROS = 5;
/** So far that every timestamp of the range may be given. */
const FUTURE_MS = 2 ** 53;
const STALE_MS = 10;
const SWEEP_AGE_MS = 100;
const MOST_SWEEPS = 60;

interface FollowerSlot {
  readonly session: string;
  readonly uid: number;
  readonly follower: Follower;
}

/** Does the steps on providers that share a store, and on the naive model; every answer must be the same, and nothing may be left at the end. */
export async function checkSteps(open: OpenStore, sizes: HistoryOptions, steps: readonly Step[]): Promise<void> {
  const run = new Run(sizes, open);
  await run.begin();
  try {
    for (const [i, step] of steps.entries()) {
      await run.step(step);
      if (i % 8 === 7) await run.compareAll();
    }
    await run.compareAll();
    await run.clearAway();
  } finally {
    await run.end();
  }
}

class Run {
  readonly #sizes: HistoryOptions;
  readonly #open: OpenStore;
  readonly #naive = new NaiveStorageProvider(naiveState(), () => NOW_MICROS, FUTURE_MS);
  readonly #slots: Slots = { lists: new Map() };
  readonly #naiveSlots: Slots = { lists: new Map() };
  readonly #followers = new Map<number, FollowerSlot>();
  #nowMs = 1;
  #asked = 0;
  #opened!: OpenedStore;
  #providers!: readonly StorageOperations[];
  #store!: LogStore;

  constructor(sizes: HistoryOptions, open: OpenStore) {
    this.#sizes = sizes;
    this.#open = open;
  }

  async begin(): Promise<void> {
    this.#opened = await this.#open(() => this.#nowMs);
    this.#store = this.#opened.store();
    this.#providers = [this.#provider(), this.#provider(), new StorageManager({ main: this.#provider() })];
  }

  async end(): Promise<void> {
    for (const provider of this.#providers) await provider.close();
    await this.#opened.close();
  }

  async step({ by, ...operation }: Step): Promise<void> {
    const provider = this.#providers[by] as StorageOperations;
    this.#nowMs += 1;
    if (operation.op === "wait") this.#nowMs += STALE_MS;
    else if (operation.op === "sweep") await this.#sweep(provider);
    else if (operation.op === "follow") await this.#follow(provider, operation);
    else await this.#compare(provider, operation);
  }

  /** All histories, with their ancestors and without, as every provider sees them. */
  async compareAll(): Promise<void> {
    for (const session of SESSIONS) {
      await this.#compare(this.#any(), { op: "read", session, ancestors: false, limit: undefined, offset: undefined });
      await this.#compare(this.#any(), { op: "read", session, ancestors: true, limit: undefined, offset: undefined });
      await this.#compare(this.#any(), { op: "describe", session });
    }
  }

  /** Deletes all sessions: the counts of forks must be right, and sweeps must leave nothing. */
  async clearAway(): Promise<void> {
    for (const session of SESSIONS) {
      if (this.#naive.uidOf(session) !== undefined) await this.#any().deleteSession(session);
    }
    const records = await this.#store.scanRecords("", 1000);
    for (const { uid, forks } of records) {
      expect([uid, forks]).toEqual([uid, records.filter(({ sources }) => sources.includes(uid)).length]);
    }
    for (let i = 0; i < MOST_SWEEPS && (await this.#store.scanRecords("", 1)).length > 0; i++) {
      await this.#sweep(this.#any());
      await this.#opened.passTime?.();
    }
    expect(await this.#store.scanRecords("", 1000)).toEqual([]);
    expect(await this.#store.listOrphans(1000)).toEqual([]);
  }

  async #compare(provider: StorageOperations, operation: Operation): Promise<void> {
    const real = await outcomeOf(provider, operation, this.#slots);
    const naive = await outcomeOf(this.#naive, withMadeIds(operation, real), this.#naiveSlots);
    expect(real, JSON.stringify(operation)).toEqual(naive);
  }

  async #sweep(provider: StorageOperations): Promise<void> {
    this.#nowMs += SWEEP_AGE_MS + 1;
    await provider.sweep();
  }

  async #follow(provider: StorageOperations, { slot, session }: Extract<Operation, { op: "follow" }>): Promise<void> {
    const begun = this.#followers.get(slot);
    const sessionId = begun?.session ?? session;
    const uid = this.#naive.uidOf(sessionId);
    this.#followers.delete(slot);
    if (uid === undefined || (begun !== undefined && begun.uid !== uid)) {
      const refused = provider.followMessages(sessionId, begun?.follower.at ?? 0);
      await expect(refused).rejects.toMatchObject({ code: uid === undefined ? "not_found" : "invalid_argument" });
      return;
    }
    const history = (await this.#naive.getSessionMessages(sessionId)).map(heldOf);
    if (begun === undefined && history.length === 0) return;
    const follower = await follow(provider, sessionId, begun?.follower, history);
    this.#followers.set(slot, { session: sessionId, uid, follower });
  }

  #any(): StorageOperations {
    return this.#providers[++this.#asked % this.#providers.length] as StorageOperations;
  }

  /** Time goes on while somebody waits: whoever sealed a log may be waited for. */
  #pause(ms: number): Promise<void> {
    this.#nowMs += Math.ceil(ms);
    return new Promise((resolve) => setImmediate(resolve));
  }

  #provider(): LogHistoryProvider {
    return new LogHistoryProvider(this.#opened.store(), {
      nowMicros: () => NOW_MICROS,
      clockMs: () => this.#nowMs,
      staleMs: STALE_MS,
      limits: { futureMs: FUTURE_MS },
      sweepAgeMs: this.#opened.sweepAgeMs ?? SWEEP_AGE_MS,
      pause: (ms) => this.#pause(ms),
      newUid: () => randomBytes(6).toString("hex"),
      heartbeatMs: 50,
      onAnomaly: (text, error) => expect.unreachable(`${text}: ${error}`),
      ...this.#sizes,
    });
  }
}

/** The naive model cannot know the ids that the provider made: it takes them over. */
function withMadeIds(operation: Operation, outcome: Outcome): Operation {
  if (operation.op !== "append" && operation.op !== "turn") return operation;
  const value = "value" in outcome ? outcome.value : undefined;
  const results = (operation.op === "turn" ? value : [value]) as
    | readonly ({ readonly messageIds?: readonly string[] } | undefined)[]
    | undefined;
  const appends = operation.appends.map((append, i) => ({
    ...append,
    messages: append.messages.map((message, k) => ({ ...message, id: message.id ?? results?.[i]?.messageIds?.[k] })),
  }));
  return { ...operation, appends };
}
