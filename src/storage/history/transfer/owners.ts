import type { SharedRange } from "../../../domain/session-image.js";
import { ForkCounts } from "../edit/fork-counts.js";
import type { HistoryContext } from "../heads.js";
import { ownerOf } from "../record-facts.js";
import { Again } from "../retries.js";
import { droppedRanges } from "../segments.js";

/** Holds the sessions from which a restored one takes ranges. */
export class Owners {
  readonly #context: HistoryContext;
  readonly #counts: ForkCounts;

  constructor(context: HistoryContext) {
    this.#context = context;
    this.#counts = new ForkCounts(context);
  }

  /**
   * Raises `forks` of every owner, at a revision that names the ranges, and answers their uids: the sources of the
   * record to be made. Null: one of them does not live any more, or does not name what is to be shared; then none is
   * raised.
   */
  async raise(shared: readonly SharedRange[]): Promise<string[] | null> {
    const raised: string[] = [];
    for (const uid of new Set(shared.map(({ log }) => ownerOf(log)))) {
      const ranges = shared.filter(({ log }) => ownerOf(log) === uid);
      if (await this.#raiseOne(uid, ranges)) {
        raised.push(uid);
      } else {
        await this.lower(raised);
        return null;
      }
    }
    return raised;
  }

  async lower(uids: readonly string[]): Promise<void> {
    for (const uid of uids) await this.#counts.lower(uid);
  }

  #raiseOne(uid: string, ranges: readonly SharedRange[]): Promise<boolean> {
    const { store } = this.#context;
    const sessionId = ranges[0]?.ownerId ?? "";
    return this.#context.retrying(sessionId, undefined, async (saw) => {
      const owner = await store.readRecord(sessionId);
      if (owner?.uid !== uid) return false;
      const named = { uid, log: owner.log, namedLogs: [], drafts: [], segments: ranges, ancestry: [], undo: null };
      if (droppedRanges(named, owner).length > 0) return false;
      saw(owner);
      // Rule: raise-at-revision.
      if (await store.addFork(uid, 1, owner.revision)) return true;
      throw new Again("The record was replaced before its forks could be raised");
    });
  }
}
