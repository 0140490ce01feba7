/** A list of numbers that may be very long. */
export class NumberColumn {
  #values = new Float64Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const longer = new Float64Array(this.#length * 2);
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[this.#length++] = value;
  }

  at(index: number): number {
    return this.#values[index] as number;
  }

  /** How many values are at most `limit`, given that they are sorted. */
  countUpTo(limit: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle) <= limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
