import type { RunningUsage } from "../history/log-store.js";

/** A place with usage, and the sums up to it. */
interface UsedPlace {
  readonly seq: number;
  readonly sums: RunningUsage;
}

/** The places of a log that have usage, in order. */
export class UsageIndex {
  readonly #places: UsedPlace[] = [];

  /** `seq` comes after all others. */
  add(seq: number, sums: RunningUsage): void {
    this.#places.push({ seq, sums });
  }

  delete(seq: number): void {
    const index = this.#indexOf(seq);
    if (this.#places[index]?.seq === seq) this.#places.splice(index, 1);
  }

  between(first: number, last: number): readonly UsedPlace[] {
    return this.#places.length === 0 ? this.#places : this.#places.slice(this.#indexOf(first), this.#indexOf(last + 1));
  }

  /** The index of the first place at or after `seq`. */
  #indexOf(seq: number): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#places[middle] as UsedPlace).seq < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
