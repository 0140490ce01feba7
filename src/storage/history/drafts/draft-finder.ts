import { permitsRemembered } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, SessionRecord } from "../log-store.js";
import { OPEN_END } from "../segments.js";
import { DraftState } from "./draft-state.js";

/** A draft that a record names, and the content of its log. */
export interface FoundDraft {
  /** The record as it was read; only its uid and the session's id are certain not to change. */
  readonly record: SessionRecord;
  readonly ref: DraftRef;
  readonly state: DraftState;
  /** The store's time that was known before the record was read. */
  readonly atMs: number;
}

/** How many bytes of drafts are kept in memory, so that extending one takes a single call to the store. */
const MOST_BYTES = 64 * 1024 * 1024;
/** The approximate size of a draft without content. */
const BASE_BYTES = 1024;

/** Finds drafts, and caches those that this process works on. A cached draft may be out of date but never wrong. */
export class DraftFinder {
  readonly #context: HistoryContext;
  /** Maps session and message id to the draft; the one used last comes last. */
  readonly #kept = new Map<string, FoundDraft>();
  /** Maps a log to its state. */
  readonly #states = new Map<string, DraftState>();
  /** Maps a log to the bytes that its state took when it was last measured. */
  readonly #sizes = new Map<string, number>();
  #keptBytes = 0;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** A draft that this process has worked on recently; null when it has to be loaded. */
  cached(sessionId: string, messageId: string, call?: Call): FoundDraft | null {
    const key = keyOf(sessionId, messageId);
    const found = this.#kept.get(key);
    if (!found || this.#context.isOld(found.atMs) || this.#context.isExpired(found.record)) return null;
    // Rule: remembered-admits-owners.
    if (!permitsRemembered(call, found.record)) return null;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  /**
   * The draft with this id, open or ended, according to its record; null when there is none. not_found: no such
   * session.
   */
  async load(sessionId: string, messageId: string, call?: Call): Promise<FoundDraft | null> {
    const atMs = this.#context.knownMs();
    const record = await this.#context.needRecord(sessionId, call);
    const ref = record.drafts.findLast((draft) => draft.messageId === messageId);
    if (!ref) return null;
    return this.read(record, ref, atMs, call);
  }

  /** A draft that a record names. `atMs` is the store's time that was known before the record was read. */
  async read(record: SessionRecord, ref: DraftRef, atMs: number, call?: Call): Promise<FoundDraft> {
    const found = { record, ref, atMs, state: await this.stateOf(ref.log, call) };
    if (ref.end === undefined && found.state.end === null) this.#keep(found);
    return found;
  }

  /** The current content of a log. */
  async stateOf(log: string, call?: Call): Promise<DraftState> {
    const state = this.#states.get(log) ?? new DraftState();
    await readOn(this.#context, log, state, call);
    this.#measure(log, state);
    return state;
  }

  forget(sessionId: string, messageId: string): void {
    const key = keyOf(sessionId, messageId);
    const found = this.#kept.get(key);
    if (found) this.#drop(key, found.ref.log);
  }

  /**
   * Must be called whenever a cached draft has grown, because the limit of the cache counts the sizes last measured.
   */
  grown({ ref, state }: FoundDraft): void {
    this.#measure(ref.log, state);
  }

  #keep(found: FoundDraft): void {
    const key = keyOf(found.record.sessionId, found.ref.messageId);
    const { log } = found.ref;
    const old = this.#kept.get(key);
    if (old && old.ref.log !== log) this.#drop(key, old.ref.log);
    this.#kept.delete(key);
    this.#kept.set(key, found);
    this.#states.set(log, found.state);
    this.#measure(log, found.state);
  }

  /** Counts what a kept draft takes now, and drops those that were used longest ago when all take too much. */
  #measure(log: string, state: DraftState): void {
    if (this.#states.get(log) !== state) return;
    const bytes = BASE_BYTES + state.content.bytes;
    this.#keptBytes += bytes - (this.#sizes.get(log) ?? 0);
    this.#sizes.set(log, bytes);
    for (const [key, { ref }] of this.#kept) {
      if (this.#keptBytes <= MOST_BYTES) return;
      if (ref.log !== log) this.#drop(key, ref.log);
    }
  }

  #drop(key: string, log: string): void {
    this.#kept.delete(key);
    this.#states.delete(log);
    this.#keptBytes -= this.#sizes.get(log) ?? 0;
    this.#sizes.delete(log);
  }
}

/** The content of a draft's log. */
export async function readDraftState(context: HistoryContext, log: string, call?: Call): Promise<DraftState> {
  const state = new DraftState();
  await readOn(context, log, state, call);
  return state;
}

/**
 * Applies the entries of a log after a state's version. Several callers may do so at once: each entry is applied once.
 */
async function readOn(context: HistoryContext, log: string, state: DraftState, call?: Call): Promise<void> {
  const { chunk: limit, limits } = context.options;
  const options = { limit, maxBytes: limits.batchBytes };
  for (;;) {
    const { entries, cut } = await context.store.readRange(log, state.version + 1, OPEN_END, options, call);
    for (const entry of entries) state.apply(entry);
    if (!cut && entries.length < limit) return;
  }
}

function keyOf(sessionId: string, messageId: string): string {
  return `${sessionId}\u0000${messageId}`;
}
