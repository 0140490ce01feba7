import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { type HistoryOptions, LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../src/storage/history/log-store.js";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import { type Follower, follow, heldOf } from "./follow.js";
import { DRAFT_COUNT } from "./naive-drafts.js";
import { naiveState } from "./naive-sessions-provider.js";
import { NaiveStorageProvider } from "./naive-storage-provider.js";
import type { Operation, Step } from "./operations.js";
import { SESSIONS } from "./operations.js";
import { type Outcome, outcomeOf, type Slots } from "./run.js";

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

/** The first value of the clock that stamps messages. */
const NOW_MICROS = 5;
/** A time longer than all other waits of a run together. */
const DRAFT_TIMEOUT_MS = 1_000_000;
/** A limit so high that every timestamp of the range may be given. */
const FUTURE_MS = 2 ** 53;
const STALE_MS = 10;
const SWEEP_AGE_MS = 100;
const MOST_SWEEPS = 60;

type OperationOf<Op extends Operation["op"]> = Extract<Operation, { readonly op: Op }>;

interface FollowerSlot {
  readonly session: string;
  readonly uid: number;
  readonly follower: Follower;
}

/**
 * Performs the steps on providers that share a store, and on the naive model. Every answer must be the same, and
 * nothing may be left at the end.
 */
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
  readonly #naive = new NaiveStorageProvider(naiveState(), () => this.#nowMicros, FUTURE_MS);
  readonly #slots: Slots = { lists: new Map() };
  readonly #naiveSlots: Slots = { lists: new Map() };
  readonly #followers = new Map<number, FollowerSlot>();
  /** Sessions whose time was to pass later. A process that has a draft of theirs at hand may notice a minute late. */
  readonly #expiring = new Set<string>();
  #nowMs = 1;
  #nowMicros = NOW_MICROS;
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
    else if (operation.op === "later") this.#nowMicros += 2;
    else if (operation.op === "sweep") await this.#sweep(provider);
    else if (operation.op === "abandon") await this.#abandon(provider);
    else if (operation.op === "expireLater") await this.#expireLater(provider, operation);
    else if (operation.op === "search" && this.#store.searchEntries === undefined) return;
    else if (operation.op === "follow") await this.#follow(provider, operation);
    else await this.#compare(provider, operation);
  }

  /** Compares all histories, with and without their ancestors, as every provider sees them. */
  async compareAll(): Promise<void> {
    for (const session of SESSIONS) {
      await this.#compare(this.#any(), { op: "read", session, ancestors: false, limit: undefined, offset: undefined });
      await this.#compare(this.#any(), { op: "read", session, ancestors: true, limit: undefined, offset: undefined });
      await this.#compare(this.#any(), { op: "describe", session });
    }
  }

  /** Deletes all sessions. After that the counts of forks must be right, and sweeps must leave nothing. */
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

  async #compare(provider: StorageOperations, given: Operation): Promise<void> {
    const operation = this.#resolved(given);
    if (operation === null) return;
    if (operation.op === "append" || operation.op === "turn") await this.#learnDrafts(provider, operation);
    const real = await outcomeOf(provider, operation, this.#slots);
    const onNaive = () => outcomeOf(this.#naive, withMadeIds(operation, real), this.#naiveSlots);
    const naive = await onNaive();
    // Callers cannot rely on when a sweep clears away a draft that has ended.
    const isDraft = ["start", "extend", "finish", "discard"].includes(operation.op) && "message" in operation;
    const isForgotten = isDraft && JSON.stringify(real) !== JSON.stringify(naive) && this.#forgetEnded(operation);
    expect(real, JSON.stringify(operation)).toEqual(isForgotten ? await onNaive() : naive);
  }

  /**
   * An append that uses a head from before StartDraft may take the id that the draft has reserved. Its outcome depends
   * on the heads that a provider knows, so the provider reads the session before it takes such an id.
   */
  async #learnDrafts(provider: StorageOperations, { session, appends }: OperationOf<"append" | "turn">): Promise<void> {
    if (this.#naive.uidOf(session) === undefined) return;
    const reserved = (await this.#naive.listDrafts(session)).map(({ message }) => message.id);
    const isTaking = appends.some(({ messages }) =>
      messages.some(({ id }) => id !== undefined && reserved.includes(id)),
    );
    if (isTaking) await provider.listDrafts(session);
  }

  /**
   * The operation as both the provider and the model are asked to perform it. Null: its outcome is not defined, so it
   * is skipped.
   */
  #resolved(operation: Operation): Operation | null {
    switch (operation.op) {
      case "extend":
      case "finish": {
        const { session, message, behind } = operation;
        const version = this.#naive.draftVersion(session, message);
        const isUnnoticed = operation.op === "extend" && version === undefined && this.#expiring.has(session);
        if (isUnnoticed || this.#naive.isDraftErased(session, message)) return null;
        return { ...operation, version: Math.max(0, (version ?? 1) - behind) };
      }
      case "erase":
        return this.#naive.shows(operation.session, operation.message) ? operation : null;
      case "copy":
      case "truncate":
      case "revert":
      case "updateMessage":
      case "deleteMessage": {
        const changed = operation.op === "copy" ? operation.target : operation.session;
        return this.#naive.isRevisionKnown(changed) ? operation : { ...operation, onlyIfFirst: undefined };
      }
      default:
        return operation;
    }
  }

  #forgetEnded(operation: Operation): boolean {
    if (!("session" in operation) || !("message" in operation) || operation.message === null) return false;
    const { session, message } = operation;
    return this.#naive.forgetEnded(session, typeof message === "string" ? message : message.id);
  }

  /** One process looks at all drafts twice, with a long time in between. */
  async #abandon(provider: StorageOperations): Promise<void> {
    const early = await provider.endAbandonedDrafts();
    this.#nowMs += DRAFT_TIMEOUT_MS;
    const late = await provider.endAbandonedDrafts();
    const spareIds = new Map<string, string>();
    for (const session of SESSIONS.filter((id) => this.#naive.uidOf(id) !== undefined)) {
      for (const { id, metadata } of await provider.getSessionMessages(session)) {
        const original = metadata?.original_message_id;
        if (original !== undefined && !this.#naive.shows(session, id)) spareIds.set(`${session} ${original}`, id);
      }
    }
    const spareIdOf = (session: string, message: string) => spareIds.get(`${session} ${message}`) ?? "none";
    expect(early + late).toBe(this.#naive.abandonAll(spareIdOf));
  }

  /** A store with its own clock ignores the model's clock, and nobody can move its clock. */
  async #expireLater(
    provider: StorageOperations,
    { session, afterMicros }: Extract<Operation, { op: "expireLater" }>,
  ): Promise<void> {
    if (this.#opened.sweepAgeMs !== undefined) return;
    const expireTimeMicros = afterMicros === null ? null : this.#nowMicros + afterMicros;
    this.#expiring.add(session);
    const outcomes = [provider, this.#naive].map((one) =>
      one.updateSession(session, { expireTimeMicros }).then(
        ({ messageCount, reverted }) => ({ messageCount, reverted }),
        ({ code }) => ({ code }),
      ),
    );
    const [real, naive] = await Promise.all(outcomes);
    expect(real).toEqual(naive);
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

  /** Moves the clock while somebody waits, because an operation may wait for whoever has sealed a log. */
  #pause(ms: number): Promise<void> {
    this.#nowMs += Math.ceil(ms);
    return new Promise((resolve) => setImmediate(resolve));
  }

  #provider(): LogHistoryProvider {
    return new LogHistoryProvider(this.#opened.store(), {
      nowMicros: () => this.#nowMicros,
      clockMs: () => this.#nowMs,
      staleMs: STALE_MS,
      search: true,
      draftTimeoutMs: DRAFT_TIMEOUT_MS,
      limits: { futureMs: FUTURE_MS, draftCount: DRAFT_COUNT },
      sweepAgeMs: this.#opened.sweepAgeMs ?? SWEEP_AGE_MS,
      pause: (ms) => this.#pause(ms),
      newUid: () => randomBytes(6).toString("hex"),
      heartbeatMs: 50,
      onAnomaly: (text, error) => expect.unreachable(`${text}: ${error}`),
      ...this.#sizes,
    });
  }
}

/** The naive model cannot know the ids that the provider has made, so it copies them. */
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
