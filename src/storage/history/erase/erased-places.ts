import type { Entry, SessionRecord } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { positionOf } from "../segments.js";

/** The copies that an erasure has found, by their places. */
export class ErasedPlaces {
  /** Log -> place -> whether this erasure has overwritten it. */
  readonly #logs = new Map<string, Map<number, boolean>>();
  #count = 0;

  /** How many were found. */
  get count(): number {
    return this.#count;
  }

  add({ log, seq }: Entry, isOverwritten: boolean): void {
    const places = this.#logs.get(log) ?? new Map<number, boolean>();
    this.#logs.set(log, places);
    if (!places.has(seq)) this.#count++;
    places.set(seq, isOverwritten || places.get(seq) === true);
  }

  /** What a record shows of them: the first position, and how many that this erasure has overwritten; null: none. */
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
