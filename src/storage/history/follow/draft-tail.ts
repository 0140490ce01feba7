import type { ChatMessage } from "../../../domain/chat-message.js";
import type { Draft, DraftDelta } from "../../../domain/draft.js";
import { holdMessageOf, isMessageOf, possibleIdsOf } from "../drafts/draft-message.js";
import { DraftState, deltasOf } from "../drafts/draft-state.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { DraftRef, Entry, SessionRecord } from "../log-store.js";
import { locate } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { OPEN_END } from "../segments.js";
import type { TailDrafts } from "./follower-drafts.js";

/** How many ends of drafts are remembered for followers that have missed them. */
const MOST_ENDS = 100;

/** An event about drafts, without the position that each follower gets with it. */
export type DraftEvent =
  | { readonly kind: "draft"; readonly draft: Draft }
  | {
      readonly kind: "draft_extended";
      readonly messageId: string;
      readonly version: number;
      readonly deltas: readonly DraftDelta[];
    }
  | { readonly kind: "draft_ended"; readonly messageId: string; readonly finished: boolean };

/** A draft in the state that followers know. */
interface FollowedDraft {
  readonly ref: DraftRef;
  readonly state: DraftState;
}

/**
 * The drafts of one session that the followers of this process know. A draft changes here in the same step in which its
 * event is emitted, so that a follower that joins at any time neither misses nor repeats anything.
 */
export class DraftTail {
  readonly #context: HistoryContext;
  readonly #sessionId: string;
  readonly #emit: (event: DraftEvent, takesBack: boolean) => void;
  /** Maps a log to its draft. */
  readonly #drafts = new Map<string, FollowedDraft>();
  /** Maps ids of messages to whether their drafts were finished; the last one comes last. */
  readonly #ends = new Map<string, boolean>();

  /** `emit` also learns whether the event takes back what earlier events have said about a draft. */
  constructor(context: HistoryContext, sessionId: string, emit: (event: DraftEvent, takesBack: boolean) => void) {
    this.#context = context;
    this.#sessionId = sessionId;
    this.#emit = emit;
  }

  /** The drafts in the state that followers know. */
  get known(): TailDrafts {
    return {
      open: [...this.#drafts.values()].map(({ ref, state }) => state.draft(ref, this.#sessionId)),
      ends: this.#ends,
    };
  }

  /** Whether followers know the draft with this log. */
  has(log: string): boolean {
    return this.#drafts.has(log);
  }

  /**
   * Emits what was added to the drafts of a head, and which drafts are new. Must be called before the events of the
   * head's history are emitted.
   */
  async look(head: Head): Promise<void> {
    for (const log of this.#drafts.keys()) await this.lookAt(log);
    for (const ref of openDrafts(head.record)) if (!this.#drafts.has(ref.log)) await this.#begin(head, ref);
  }

  /** Emits what was added to one draft. Resolves to whether it is still open. */
  async lookAt(log: string): Promise<boolean> {
    const draft = this.#drafts.get(log);
    if (!draft) return false;
    const { ref, state } = draft;
    for await (const entries of this.#entries(log, state)) {
      const steps = entries.map((entry) => state.apply(entry));
      const deltas = steps.flatMap(deltasOf);
      const { messageId } = ref;
      // A renewal has no deltas, but whoever wants to finish the draft must know its version.
      const isExtended = deltas.length > 0 || steps.some((step) => step?.kind === "extended");
      if (isExtended) this.#emit({ kind: "draft_extended", messageId, version: state.version, deltas }, false);
      if (state.end === "discarded") this.#end(draft, false, true);
    }
    return state.end === null;
  }

  /** Must be called right after a message was emitted. If the message was a draft, emits that the draft has ended. */
  appended(message: ChatMessage): void {
    for (const draft of this.#drafts.values())
      if (isMessageOf(draft.ref, draft.state, message)) this.#end(draft, true, false);
  }

  /** Must be called after the history of a head was emitted. Drafts that the head does not name as open have ended. */
  settle(record: SessionRecord): void {
    for (const draft of this.#drafts.values()) {
      const now = record.drafts.find(({ log }) => log === draft.ref.log);
      if (now && now.end === undefined) continue;
      // If it was finished, its message has been removed already.
      this.#end(draft, (now?.end ?? draft.state.end) === "finished", true);
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
    this.#drafts.set(ref.log, { ref, state });
    this.#emit({ kind: "draft", draft: state.draft(ref, this.#sessionId) }, false);
  }

  #end({ ref: { log, messageId } }: FollowedDraft, finished: boolean, takesBack: boolean): void {
    this.#drafts.delete(log);
    this.#ends.delete(messageId);
    this.#ends.set(messageId, finished);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > MOST_ENDS && oldest !== undefined) this.#ends.delete(oldest);
    this.#emit({ kind: "draft_ended", messageId, finished }, takesBack);
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
