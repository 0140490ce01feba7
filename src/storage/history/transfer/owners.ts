import type { SharedAttachment, SharedRange } from "../../../domain/session-image.js";
import { ForkCounts } from "../edit/fork-counts.js";
import type { HistoryContext } from "../heads.js";
import { ownerOf } from "../record-facts.js";
import { unnamedBy } from "../segments.js";

/** Raises the `forks` of the sessions whose ranges a restored session names. */
export class Owners {
  readonly #context: HistoryContext;
  readonly #counts: ForkCounts;

  constructor(context: HistoryContext) {
    this.#context = context;
    this.#counts = new ForkCounts(context);
  }

  /**
   * Raises `forks` of every owner that names its ranges, or that has attachments to be shared. Resolves to their uids,
   * which become the sources of the new record; null when one of them no longer lives or no longer names what is to be
   * shared. In that case, and when it rejects, none stays raised, except one for which the outcome is unknown.
   */
  async raise(shared: readonly SharedRange[], attachments: Iterable<SharedAttachment> = []): Promise<string[] | null> {
    const raised: string[] = [];
    const owners = new Map([...shared, ...attachments].map(({ log, ownerId }) => [ownerOf(log), ownerId]));
    for (const [uid, ownerId] of owners) {
      const ranges = shared.filter(({ log }) => ownerOf(log) === uid);
      const isRaised = await this.#raiseOne(uid, ownerId, ranges).catch(async (error: unknown) => {
        await this.lower(raised);
        throw error;
      });
      if (isRaised) {
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

  async #raiseOne(uid: string, ownerId: string, ranges: readonly SharedRange[]): Promise<boolean> {
    // Rule: raise-before-child. The step that reads the owner raises it.
    const owner = await this.#context.store.raiseForks(ownerId);
    if (owner === null) return false;
    if (owner.uid === uid && unnamedBy(owner, ranges).length === 0) return true;
    await this.#counts.lower(owner.uid);
    return false;
  }
}
