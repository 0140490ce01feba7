/** A part of the requested range that is either known throughout or not known at all. */
export interface RangePart<T> {
  readonly first: number;
  readonly last: number;
  /** Absent when nothing is known about the part. */
  readonly known?: {
    readonly value: T;
    /** The distance from the start of the added range to the start of this part. */
    readonly offset: number;
  };
}

/** Remembers a value for each of several ranges of numbers. */
export class RangeMap<T> {
  /** In ascending order and without overlaps. */
  readonly #known: { readonly first: number; readonly last: number; readonly value: T }[] = [];

  /** Adds a range about which nothing was known. */
  add(first: number, last: number, value: T): void {
    this.#known.splice(this.#placeOf(first), 0, { first, last, value });
  }

  /** Splits a range, in order, into the parts that are known and those that are not. */
  parts(first: number, last: number): RangePart<T>[] {
    const parts: RangePart<T>[] = [];
    let next = first;
    for (let i = this.#placeOf(first); next <= last; i++) {
      const found = this.#known[i];
      if (found === undefined || found.first > last) {
        parts.push({ first: next, last });
        break;
      }
      if (found.first > next) parts.push({ first: next, last: found.first - 1 });
      const start = Math.max(next, found.first);
      const end = Math.min(last, found.last);
      parts.push({ first: start, last: end, known: { value: found.value, offset: start - found.first } });
      next = end + 1;
    }
    return parts;
  }

  /** The index of the first range that ends at or after a number. */
  #placeOf(number: number): number {
    let low = 0;
    let high = this.#known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#known[middle] as { last: number }).last < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
