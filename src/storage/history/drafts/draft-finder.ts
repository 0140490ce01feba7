import type { Call } from "../../../domain/call.js";
import { notFound } from "../../../domain/errors.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, SessionRecord } from "../log-store.js";
import { OPEN_END } from "../segments.js";
import { DraftState } from "./draft-state.js";

/** A draft that a record names, and what its log holds. */
export interface FoundDraft {
  /** As it was read; only its uid and the session's id never change. */
  readonly record: SessionRecord;
  readonly ref: DraftRef;
  readonly state: DraftState;
  /** The store's time that was known before the record was read. */
  readonly atMs: number;
}

/** Bytes of drafts that are kept in memory, so that extending one takes a single call to the store. */
const MOST_BYTES = 64 * 1024 * 1024;
/** What a draft without content takes. */
const BASE_BYTES = 1024;

/** Finds drafts, and keeps those that this process works on. A kept draft may be out of date, never wrong. */
export class DraftFinder {
  readonly #context: HistoryContext;
  /** Session and message id -> draft; the one used last comes last. */
  readonly #kept = new Map<string, FoundDraft>();
  /** Log -> state. */
  readonly #states = new Map<string, DraftState>();

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** A draft that this process has worked on lately; null when it has to be loaded. */
  cached(sessionId: string, messageId: string): FoundDraft | null {
    const key = keyOf(sessionId, messageId);
    const found = this.#kept.get(key);
    if (!found || this.#context.isOld(found.atMs) || this.#context.isExpired(found.record)) return null;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  /** The draft with this id, open or ended, by its record; null when there is none. not_found: no such session. */
  async load(sessionId: string, messageId: string, call?: Call): Promise<FoundDraft | null> {
    const atMs = this.#context.knownMs();
    const record = await this.#context.store.readRecord(sessionId, call);
    if (!record || this.#context.isExpired(record)) throw notFound("Session", sessionId);
    const ref = record.drafts.findLast((draft) => draft.messageId === messageId);
    if (!ref) return null;
    return this.read(record, ref, atMs, call);
  }

  /** The draft of a record that was read at this time. */
  async read(record: SessionRecord, ref: DraftRef, atMs: number, call?: Call): Promise<FoundDraft> {
    const found = { record, ref, atMs, state: await this.stateOf(ref.log, call) };
    if (ref.end === undefined && found.state.end === null) this.#keep(found);
    return found;
  }

  /** What a log holds now. */
  async stateOf(log: string, call?: Call): Promise<DraftState> {
    const state = this.#states.get(log) ?? new DraftState();
    await readOn(this.#context, log, state, call);
    return state;
  }

  forget(sessionId: string, messageId: string): void {
    const key = keyOf(sessionId, messageId);
    const found = this.#kept.get(key);
    if (!found) return;
    this.#kept.delete(key);
    this.#states.delete(found.ref.log);
  }

  #keep(found: FoundDraft): void {
    const key = keyOf(found.record.sessionId, found.ref.messageId);
    this.#kept.delete(key);
    this.#kept.set(key, found);
    this.#states.set(found.ref.log, found.state);
    // Measured only when one is added; those that are there grow by no more than what their sessions may hold.
    let bytes = 0;
    for (const { state } of this.#kept.values()) bytes += BASE_BYTES + state.content.bytes;
    for (const [oldest, { ref, state }] of this.#kept) {
      if (bytes <= MOST_BYTES || oldest === key) break;
      bytes -= BASE_BYTES + state.content.bytes;
      this.#kept.delete(oldest);
      this.#states.delete(ref.log);
    }
  }
}

/** What the log of a draft holds. */
export async function readDraftState(context: HistoryContext, log: string, call?: Call): Promise<DraftState> {
  const state = new DraftState();
  await readOn(context, log, state, call);
  return state;
}

/** Applies what a log holds after a state's version. Several may do so at once: each entry is applied once. */
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
