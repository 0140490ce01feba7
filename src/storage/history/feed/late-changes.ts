import type { FeedChange, FeedCursor, LatePlaces } from "../log-store.js";
import type { ToldChange } from "./told-change.js";

/** How often everything is read again that may have become visible late. */
const LOOK_BACK_MS = 5000;

/**
 * What was told of a feed whose changes may become visible late. Each look begins a little before the last place, and
 * from time to time at the last final one. What was told already is left out.
 */
export class LateChanges {
  readonly #usual: number;
  /** The places of what was told after `#final`. */
  readonly #told = new Map<string, number>();
  #final: number;
  #last = 0;
  #looksBack = true;
  #lookBackAtMs = Number.NEGATIVE_INFINITY;

  constructor({ usual }: LatePlaces, final: number) {
    this.#usual = usual;
    this.#final = final;
  }

  /** Everything up to this place was told, and nothing becomes visible there any more. */
  get final(): number {
    return this.#final;
  }

  /** Where a look begins that is made at this time of a steady clock. */
  begin(nowMs: number): FeedCursor {
    this.#looksBack = nowMs >= this.#lookBackAtMs;
    return { place: this.#looksBack ? this.#final : Math.max(this.#final, this.#last - this.#usual) };
  }

  isNew(change: FeedChange): boolean {
    return (this.#told.get(keyOf(change)) ?? Number.NEGATIVE_INFINITY) < change.place;
  }

  /** Notes that a change is told. Returns up to which place its session was told before. */
  tell(change: ToldChange): number {
    const key = keyOf(change);
    const since = this.#told.get(key) ?? this.#final;
    this.#told.set(key, change.place);
    this.#last = Math.max(this.#last, change.place);
    return since;
  }

  /** Ends a look. `final` is that of the feed when the look began. */
  end(final: number, nowMs: number): void {
    if (!this.#looksBack) return;
    this.#lookBackAtMs = nowMs + LOOK_BACK_MS;
    this.#final = Math.max(this.#final, final);
    for (const [key, place] of this.#told) if (place <= this.#final) this.#told.delete(key);
  }
}

function keyOf(change: FeedChange | ToldChange): string {
  if (change.kind !== "state") return `${change.kind} ${change.place} ${change.uid}`;
  return `state ${"now" in change ? change.now.record.uid : change.record.uid}`;
}
