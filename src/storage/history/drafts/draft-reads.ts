import type { Call } from "../../../domain/call.js";
import type { Draft } from "../../../domain/draft.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import { locate } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import type { DraftFinder } from "./draft-finder.js";
import { holdMessageOf, possibleIdsOf } from "./draft-message.js";

/** Reads the open drafts of a session. */
export class DraftReads {
  readonly #context: HistoryContext;
  readonly #finder: DraftFinder;

  constructor(context: HistoryContext, finder: DraftFinder) {
    this.#context = context;
    this.#finder = finder;
  }

  /**
   * The open drafts of a head. A finished one is shown as long as the head does not have its message, so that a reader
   * always sees exactly one of the two.
   */
  async open(head: Head, call?: Call): Promise<readonly Draft[]> {
    const refs = openDrafts(head.record);
    if (refs.length === 0) return [];
    const ids = refs.flatMap(possibleIdsOf);
    const known = await locate(this.#context, visibleSegments(head), ids, call);
    const entries = [...known.values()].map(({ entry }) => entry);
    const drafts: Draft[] = [];
    for (const ref of refs) {
      const state = await this.#finder.stateOf(ref.log, call);
      const isShown = state.version > 0 && state.end !== "discarded" && !holdMessageOf(ref, state, entries);
      if (isShown) drafts.push(state.draft(ref, head.record.sessionId));
    }
    return drafts;
  }
}
