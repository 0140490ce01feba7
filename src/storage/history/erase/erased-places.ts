import type { Entry, Segment } from "../log-store.js";
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

  add({ log, seq }: Pick<Entry, "log" | "seq">, isOverwritten: boolean): void {
    const places = this.#logs.get(log) ?? new Map<number, boolean>();
    this.#logs.set(log, places);
    if (!places.has(seq)) this.#count++;
    places.set(seq, isOverwritten || places.get(seq) === true);
  }

  /**
   * The copies within these segments: how many there are, the first position, and how many of them this erasure has
   * overwritten; null when there are none.
   */
  within(
    segments: readonly Segment[],
  ): { readonly count: number; readonly position: number; readonly overwritten: number } | null {
    let count = 0;
    let position = Number.POSITIVE_INFINITY;
    let overwritten = 0;
    for (const log of new Set(segments.map((segment) => segment.log))) {
      for (const [seq, isOverwritten] of this.#logs.get(log) ?? []) {
        const found = positionOf(segments, log, seq);
        if (found < 0) continue;
        count++;
        position = Math.min(position, found);
        if (isOverwritten) overwritten++;
      }
    }
    return count === 0 ? null : { count, position, overwritten };
  }
}
