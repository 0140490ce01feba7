import type { Entry, SessionRecord } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { positionOf } from "../segments.js";

/** The copies that an erasure has found, by place. */
export class ErasedPlaces {
  /** Maps a log to its places, and each place to whether this erasure has overwritten it. */
  readonly #logs = new Map<string, Map<number, boolean>>();
  #count = 0;

  /** The number of copies found. */
  get count(): number {
    return this.#count;
  }

  add({ log, seq }: Entry, isOverwritten: boolean): void {
    const places = this.#logs.get(log) ?? new Map<number, boolean>();
    this.#logs.set(log, places);
    if (!places.has(seq)) this.#count++;
    places.set(seq, isOverwritten || places.get(seq) === true);
  }

  /**
   * The copies that a record shows: the first position, and how many of them this erasure has overwritten; null when it
   * shows none.
   */
  shownBy(record: SessionRecord): { readonly position: number; readonly overwritten: number } | null {
    const segments = openSegments(record);
    let position = Number.POSITIVE_INFINITY;
    let overwritten = 0;
    for (const log of new Set(segments.map((segment) => segment.log))) {
      for (const [seq, isOverwritten] of this.#logs.get(log) ?? []) {
        const found = positionOf(segments, log, seq);
        if (found < 0) continue;
        position = Math.min(position, found);
        if (isOverwritten) overwritten++;
      }
    }
    return position === Number.POSITIVE_INFINITY ? null : { position, overwritten };
  }
}
