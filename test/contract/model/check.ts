import { expect } from "vitest";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { parseGroupBy } from "../../../src/domain/usage-groups.js";
import type { EngineOptions } from "../../../src/storage/history/log-history-provider.js";
import type { DroppedRange, SessionRecord } from "../../../src/storage/history/log-store.js";
import { OPEN_END, ownRanges } from "../../../src/storage/history/segments.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { LogStoreHarness } from "../log-store/subject.js";
import { boundTo } from "./bound-provider.js";
import { FollowerSlots } from "./follow.js";
import { ATTACHMENTS } from "./naive-attachments.js";
import { naiveState } from "./naive-sessions-provider.js";
import { NaiveStorageProvider } from "./naive-storage-provider.js";
import { type Operation, SESSIONS, type Step } from "./operations.js";
import { FUTURE_MS, Providers } from "./providers.js";
import { type Outcome, outcomeOf, type Slots } from "./run.js";

/** How many sweeps may be needed until nothing is left of the sessions that were deleted. */
const MOST_SWEEPS = 60;

/** Operations that only callers without limits may do. */
const UNBOUND: ReadonlySet<Operation["op"]> = new Set(["erase", "give"]);

/** Operations after which fewer bytes are stored. */
const LOWERING: ReadonlySet<Operation["op"]> = new Set(["deleteAttachment", "erase"]);

type OperationOf<Op extends Operation["op"]> = Extract<Operation, { readonly op: Op }>;

/**
 * Performs the steps on providers that share a store, and on the naive model. Every answer must be the same, and
 * nothing may be left at the end.
 */
export async function checkSteps(
  harness: LogStoreHarness,
  sizes: EngineOptions,
  steps: readonly Step[],
): Promise<void> {
  const providers = await Providers.open(harness, sizes);
  const run = new Run(providers, sizes);
  try {
    for (const [i, step] of steps.entries()) {
      await run.step(step);
      if (i % 8 === 7) await run.compareAll();
    }
    await run.compareAll();
    await run.compareSums();
    await providers.restart({ undeleteMs: 0 });
    if (sizes.quotas) await run.compareBytes();
    await run.clearAway();
  } finally {
    await providers.close();
  }
}

/** The parts of a store that operations need and a store may leave out. */
const PARTS: { readonly [op in Operation["op"]]?: "searchEntries" | "bin" } = {
  search: "searchEntries",
  undelete: "bin",
  deleted: "bin",
};

class Run {
  readonly #providers: Providers;
  readonly #naive: NaiveStorageProvider;
  readonly #followers: FollowerSlots;
  readonly #slots: Slots = { lists: new Map() };
  readonly #naiveSlots: Slots = { lists: new Map() };
  /**
   * Sessions that were given a later expiry time. A process that caches one of their drafts may notice it a minute
   * late.
   */
  readonly #expiring = new Set<string>();

  constructor(providers: Providers, { undeleteMs = 0 }: EngineOptions) {
    this.#providers = providers;
    const bin = { undeleteMs: providers.store.bin ? undeleteMs : 0, nowMs: () => providers.storeMs };
    this.#naive = new NaiveStorageProvider(naiveState(), () => providers.nowMicros, FUTURE_MS, bin);
    this.#followers = new FollowerSlots(this.#naive);
  }

  async step({ by, as, ...operation }: Step): Promise<void> {
    const provider = this.#providers.at(by);
    this.#providers.tick();
    if (operation.op === "wait") this.#providers.passStale();
    else if (operation.op === "later") this.#providers.passMicros();
    else if (operation.op === "sweep") await this.#providers.sweep(provider);
    else if (operation.op === "abandon") await this.#abandon(provider);
    else if (operation.op === "expireLater") await this.#expireLater(provider, operation);
    else if (this.#isLeftOut(operation)) return;
    else if (operation.op === "follow") await this.#followers.follow(provider, operation);
    else if (LOWERING.has(operation.op)) await this.#lower(provider, operation, as);
    else await this.#compare(provider, operation, UNBOUND.has(operation.op) ? undefined : as);
  }

  /** Compares all histories, with and without their ancestors, as every provider sees them. */
  async compareAll(): Promise<void> {
    for (const session of SESSIONS) {
      const read = { op: "read", session, limit: undefined, offset: undefined } as const;
      await this.#compare(this.#providers.any(), { ...read, ancestors: false });
      await this.#compare(this.#providers.any(), { ...read, ancestors: true });
      await this.#compare(this.#providers.any(), { op: "describe", session });
      await this.#compare(this.#providers.any(), { op: "annotations", session, message: "", limit: 4 });
    }
  }

  /** Compares sums of usage by their most names, and the list of deleted sessions. */
  async compareSums(): Promise<void> {
    const groupBy = parseGroupBy("model,session,day,owner,provider,label:k");
    await this.#compare(this.#providers.any(), { op: "sum", query: { groupBy }, limit: 3 });
    const deleted = { op: "deleted", limit: 2 } as const;
    if (!this.#isLeftOut(deleted)) await this.#compare(this.#providers.any(), deleted);
  }

  /** Whether the store lacks the optional part that an operation needs. */
  #isLeftOut({ op }: Operation): boolean {
    const part = PARTS[op];
    return part !== undefined && this.#providers.store[part] === undefined;
  }

  /** Compares the counted bytes with what is stored in the logs of living sessions. */
  async compareBytes(): Promise<void> {
    const { store } = this.#providers;
    const living = (await store.scanRecords("", 1000)).filter(({ deleted }) => !deleted);
    let bytes = await store.entryBytes(living.flatMap(ownRanges));
    for (const { uid } of living) bytes += (await store.attachments?.usage(uid))?.bytes ?? 0;
    // The next sweep counts down what one has removed that found the record replaced.
    for (const mark of living.flatMap(marksOf)) {
      if ((await store.entryBytes([mark])) === 0) bytes += mark.bytes ?? 0;
    }
    expect(await store.usage({})).toEqual({ sessions: living.length, bytes, uncounted: 0 });
  }

  /** Deletes all sessions. After that the counts of forks must be right, and sweeps must leave nothing. */
  async clearAway(): Promise<void> {
    const provider = this.#providers.any();
    for (const session of SESSIONS) {
      if (this.#naive.uidOf(session) !== undefined) await provider.deleteSession(session);
    }
    if (this.#providers.hasOwnClock) await this.#emptyBin(provider);
    else this.#providers.passDraftTimeout();
    const { store } = this.#providers;
    const records = await store.scanRecords("", 1000);
    for (const { uid, forks } of records) {
      expect([uid, forks]).toEqual([uid, records.filter(({ sources }) => sources.includes(uid)).length]);
    }
    for (let i = 0; i < MOST_SWEEPS && (await store.scanRecords("", 1)).length > 0; i++) {
      await this.#providers.sweep(this.#providers.any());
      await this.#providers.passTime();
    }
    expect(await store.scanRecords("", 1000)).toEqual([]);
    expect(await store.listOrphans(1000)).toEqual([]);
    for (const state of ["arriving", "stored", "doomed"] as const)
      expect(await store.attachments?.listSeen(state, Number.MAX_SAFE_INTEGER, 1)).toEqual([]);
  }

  /** Deletes for good what can be brought back. */
  async #emptyBin(provider: StorageOperations): Promise<void> {
    const { sessions } = await provider.listDeletedSessions({ limit: 1000 });
    for (const { sessionId } of sessions) {
      await provider.undeleteSession(sessionId);
      await provider.deleteSession(sessionId);
    }
  }

  /** `as`: the owner to whom the caller is bound, if any. */
  async #compare(provider: StorageOperations, given: Operation, as?: string): Promise<void> {
    const operation = this.#resolved(given);
    if (operation === null) return;
    if (operation.op === "append" || operation.op === "turn") await this.#learnDrafts(provider, operation);
    const real = await outcomeOf(as === undefined ? provider : boundTo(as, provider), operation, this.#slots);
    const onNaive = async () => {
      this.#naive.caller = as;
      const outcome = await outcomeOf(this.#naive, withMadeIds(operation, real), this.#naiveSlots);
      this.#naive.caller = undefined;
      return outcome;
    };
    const naive = await onNaive();
    // Callers cannot rely on when a sweep clears away a draft that has ended.
    const isDraft = ["start", "extend", "finish", "discard"].includes(operation.op) && "message" in operation;
    const isForgotten = isDraft && JSON.stringify(real) !== JSON.stringify(naive) && this.#forgetEnded(operation);
    expect(real, JSON.stringify({ ...operation, as })).toEqual(isForgotten ? await onNaive() : naive);
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
   * Returns the operation as both the provider and the model are asked to perform it, or null if its outcome is not
   * defined and it must be skipped.
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
      case "append":
      case "turn":
        return this.#naive.isUncertain(
          operation.session,
          operation.appends.flatMap(({ messages }) => messages.flatMap(namedBy)),
        )
          ? null
          : operation;
      case "start":
        return this.#naive.isUncertain(operation.session, namedBy(operation.message)) ? null : operation;
      case "upload":
      case "download":
      case "deleteAttachment":
        return this.#naive.isUncertain(operation.session, [operation.attachment]) ? null : operation;
      case "erase":
        return this.#naive.shows(operation.session, operation.message) ? operation : null;
      case "copy":
        if (this.#naive.isUncertain(operation.target, ATTACHMENTS)) return null;
        if (this.#naive.isRenaming(operation.session, operation.target)) return null;
        return this.#naive.isRevisionKnown(operation.target) ? operation : { ...operation, onlyIfFirst: undefined };
      case "undelete":
        return this.#naive.isRevisionKnown(operation.session) ? operation : null;
      case "truncate":
      case "revert":
      case "updateMessage":
      case "deleteMessage": {
        return this.#naive.isRevisionKnown(operation.session) ? operation : { ...operation, onlyIfFirst: undefined };
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

  /** Lets one process look at all drafts twice, with the timeout of drafts in between. */
  async #abandon(provider: StorageOperations): Promise<void> {
    const early = await provider.endAbandonedDrafts();
    this.#providers.passDraftTimeout();
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

  /** What goes was counted within a second. Otherwise the count would never come down to 0. */
  async #lower(provider: StorageOperations, operation: Operation, as?: string): Promise<void> {
    await this.#providers.counted();
    await this.#compare(provider, operation, UNBOUND.has(operation.op) ? undefined : as);
    await this.#providers.counted();
  }

  /** Sets an expiry time in the future. Skipped on a store with its own clock, because that clock cannot be moved. */
  async #expireLater(
    provider: StorageOperations,
    { session, afterMicros }: Extract<Operation, { op: "expireLater" }>,
  ): Promise<void> {
    if (this.#providers.hasOwnClock) return;
    const expireTimeMicros = afterMicros === null ? null : this.#providers.nowMicros + afterMicros;
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
}

/** What sweeps have marked in a record. */
function marksOf({ drafts, dropped }: SessionRecord): readonly DroppedRange[] {
  return [...dropped, ...drafts.map((draft) => ({ ...draft, first: 1, last: OPEN_END }))];
}

function namedBy({ parts }: NewChatMessage): readonly string[] {
  return parts.flatMap(({ attachment }) => attachment?.attachmentId ?? []);
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
