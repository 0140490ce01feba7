import type { ChatMessage } from "../../../domain/chat-message.js";
import type { Draft, DraftDelta } from "../../../domain/draft.js";
import { holdMessageOf, isMessageOf, possibleIdsOf } from "../drafts/draft-message.js";
import { DraftState, deltasOf } from "../drafts/draft-state.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { DraftRef, Entry, SessionRecord } from "../log-store.js";
import { locate } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { OPEN_END } from "../segments.js";
import type { KnownDrafts } from "./told-drafts.js";

/** How many ends of drafts are remembered for followers that have missed them. */
const MOST_ENDS = 100;

/** An event about drafts for followers. */
export type DraftNews =
  | { readonly kind: "draft"; readonly draft: Draft }
  | {
      readonly kind: "draft_extended";
      readonly messageId: string;
      readonly version: number;
      readonly deltas: readonly DraftDelta[];
    }
  | { readonly kind: "draft_ended"; readonly messageId: string; readonly finished: boolean };

/** A draft as far as followers have been told of it. */
interface Told {
  readonly ref: DraftRef;
  readonly state: DraftState;
}

/**
 * The drafts of one session that the followers of this process know. A draft's content here and what followers have
 * been told change in the same step, so that a follower that joins at any time neither misses nor repeats anything.
 */
export class DraftTail {
  readonly #context: HistoryContext;
  readonly #sessionId: string;
  readonly #tell: (news: DraftNews, takesBack: boolean) => void;
  /** Maps a log to its draft. */
  readonly #told = new Map<string, Told>();
  /** Maps ids of messages to whether their drafts were finished; the last one comes last. */
  readonly #ends = new Map<string, boolean>();

  /** `tell` also learns whether the news take back what was told of a draft before. */
  constructor(context: HistoryContext, sessionId: string, tell: (news: DraftNews, takesBack: boolean) => void) {
    this.#context = context;
    this.#sessionId = sessionId;
    this.#tell = tell;
  }

  /** The drafts as far as they were told. */
  get known(): KnownDrafts {
    return {
      open: [...this.#told.values()].map(({ ref, state }) => state.draft(ref, this.#sessionId)),
      ends: this.#ends,
    };
  }

  /** Whether followers were told of the draft with this log. */
  has(log: string): boolean {
    return this.#told.has(log);
  }

  /**
   * Tells what was added to the drafts of a head, and which drafts are new. The history of the head is told after this.
   */
  async look(head: Head): Promise<void> {
    for (const log of this.#told.keys()) await this.lookAt(log);
    for (const ref of openDrafts(head.record)) if (!this.#told.has(ref.log)) await this.#begin(head, ref);
  }

  /** Tells what was added to one draft. Resolves to whether it is still open. */
  async lookAt(log: string): Promise<boolean> {
    const told = this.#told.get(log);
    if (!told) return false;
    const { ref, state } = told;
    for await (const entries of this.#entries(log, state)) {
      const steps = entries.map((entry) => state.apply(entry));
      const deltas = steps.flatMap(deltasOf);
      const { messageId } = ref;
      // A renewal has no deltas, but whoever wants to finish the draft must know its version.
      const isExtended = deltas.length > 0 || steps.some((step) => step?.kind === "extended");
      if (isExtended) this.#tell({ kind: "draft_extended", messageId, version: state.version, deltas }, false);
      if (state.end === "discarded") this.#end(told, false, true);
    }
    return state.end === null;
  }

  /** Called right after a message was told: if it was a draft, tells that the draft has ended. */
  appended(message: ChatMessage): void {
    for (const told of this.#told.values())
      if (isMessageOf(told.ref, told.state, message)) this.#end(told, true, false);
  }

  /** Called after the history of a head was told: drafts that it does not name as open have ended. */
  settle(record: SessionRecord): void {
    for (const told of this.#told.values()) {
      const now = record.drafts.find(({ log }) => log === told.ref.log);
      if (now && now.end === undefined) continue;
      // If it was finished, its message has been removed already.
      this.#end(told, (now?.end ?? told.state.end) === "finished", true);
    }
  }

  async #begin(head: Head, ref: DraftRef): Promise<void> {
    const state = new DraftState();
    for await (const entries of this.#entries(ref.log, state)) for (const entry of entries) state.apply(entry);
    if (state.version === 0 || state.end === "discarded") return;
    if (state.end === "finished") {
      const known = await locate(this.#context, visibleSegments(head), possibleIdsOf(ref));
      const entries = [...known.values()].map(({ entry }) => entry);
      if (holdMessageOf(ref, state, entries)) return;
    }
    this.#told.set(ref.log, { ref, state });
    this.#tell({ kind: "draft", draft: state.draft(ref, this.#sessionId) }, false);
  }

  #end({ ref: { log, messageId } }: Told, finished: boolean, takesBack: boolean): void {
    this.#told.delete(log);
    this.#ends.delete(messageId);
    this.#ends.set(messageId, finished);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > MOST_ENDS && oldest !== undefined) this.#ends.delete(oldest);
    this.#tell({ kind: "draft_ended", messageId, finished }, takesBack);
  }

  /** The entries of a log after a version, which advances as the entries are applied. */
  async *#entries(log: string, state: DraftState): AsyncGenerator<readonly Entry[]> {
    const { chunk: limit, limits } = this.#context.options;
    const options = { limit, maxBytes: limits.batchBytes };
    for (;;) {
      const { entries, cut } = await this.#context.store.readRange(log, state.version + 1, OPEN_END, options);
      if (entries.length > 0) yield entries;
      if (!cut && entries.length < limit) return;
    }
  }
}
