import type { Call } from "../../../domain/call.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Segment } from "../log-store.js";
import { locate } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { isSameList, positionOf, segmentsWithout } from "../segments.js";

/** The place of a message that a session shows already. */
interface Place {
  readonly log: string;
  readonly seq: number;
}

/** Which of some messages a session does not have yet, and whether that is still so after others have changed it. */
export class MissingMessages {
  readonly #context: HistoryContext;
  readonly #all: readonly string[];
  /** The ids that drafts of the session have reserved. */
  readonly #reserved: ReadonlySet<string>;
  /** The ids that the session does not have. */
  readonly ids: ReadonlySet<string>;
  #known: ReadonlyMap<string, Place>;
  #visible: readonly Segment[];

  private constructor(context: HistoryContext, head: Head, all: readonly string[], known: ReadonlyMap<string, Place>) {
    this.#context = context;
    this.#all = all;
    this.#reserved = reservedIn(head);
    this.ids = new Set(all.filter((id) => !known.has(id) && !this.#reserved.has(id)));
    this.#known = known;
    this.#visible = visibleSegments(head);
  }

  static async of(
    context: HistoryContext,
    head: Head,
    ids: readonly string[],
    call: Call | undefined,
  ): Promise<MissingMessages> {
    return new MissingMessages(context, head, ids, await placesOf(context, visibleSegments(head), ids, call));
  }

  /** Whether the same messages are missing on a newer head. Looks only into what the session did not show before. */
  async areSameOn(now: Head, call: Call | undefined): Promise<boolean> {
    const reserved = reservedIn(now);
    if (this.#all.some((id) => reserved.has(id) !== this.#reserved.has(id))) return false;
    const visible = visibleSegments(now);
    if (isSameList(visible, this.#visible)) return true;
    const added = segmentsWithout(visible, this.#visible);
    const moved = [...this.#known].filter(([, { log, seq }]) => positionOf(visible, log, seq) < 0).map(([id]) => id);
    // Rule: look-up-in-segments. Others may have appended or copied the same messages meanwhile.
    const found = await placesOf(this.#context, added, [...this.ids, ...moved], call);
    if (found.size !== moved.length || !moved.every((id) => found.has(id))) return false;
    this.#known = new Map([...this.#known, ...found]);
    this.#visible = visible;
    return true;
  }
}

async function placesOf(
  context: HistoryContext,
  segments: readonly Segment[],
  ids: readonly string[],
  call: Call | undefined,
): Promise<ReadonlyMap<string, Place>> {
  const located = await locate(context, segments, ids, call);
  return new Map([...located].map(([id, { entry }]) => [id, { log: entry.log, seq: entry.seq }]));
}

function reservedIn({ record }: Head): ReadonlySet<string> {
  return new Set(openDrafts(record).map(({ messageId }) => messageId));
}
