import { setImmediate } from "node:timers/promises";

/** A duration is less than 2^42 microseconds, which is 50 days, and is looked at 14 bits at a time. */
const DIGIT = 2 ** 14;
const HIGHEST = DIGIT * DIGIT;
/** Few numbers are kept in a list; more fill blocks that double up to a size. */
const FEW = 64;
const MOST_IN_BLOCK = 65_536;
/** How many numbers are looked at before other work may run. */
const AT_ONCE = 500_000;

/** Keeps durations in microseconds at 8 bytes each, for exact percentiles. */
export class Durations {
  #few: number[] = [];
  readonly #blocks: Float64Array[] = [];
  /** How many places of the last block are used. */
  #used = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds a duration; returns how many bytes more this takes. */
  add(micros: number): number {
    this.#count++;
    if (this.#blocks.length === 0 && this.#few.length < FEW) {
      this.#few.push(micros);
      return 8;
    }
    let block = this.#blocks.at(-1);
    let bytes = 0;
    if (block === undefined || this.#used === block.length) {
      block = new Float64Array(Math.min(MOST_IN_BLOCK, Math.max(FEW, this.#count)));
      this.#blocks.push(block);
      this.#used = 0;
      bytes = block.byteLength;
    }
    block[this.#used++] = micros;
    return bytes;
  }

  addAll(others: Durations): number {
    let bytes = 0;
    for (const { numbers, length } of others.lists()) {
      for (let i = 0; i < length; i++) bytes += this.add(numbers[i] as number);
    }
    return bytes;
  }

  /** The percentile by the nearest rank: the smallest number that `percent` of all are not above. */
  async percentile(percent: number): Promise<number | undefined> {
    if (this.#count === 0) return undefined;
    const rank = Math.max(1, Math.ceil((percent * this.#count) / 100));
    if (this.#blocks.length === 0) return this.#few.toSorted((a, b) => a - b)[rank - 1];
    return this.#select(rank);
  }

  /** The number with this rank, found digit by digit in three passes, whatever the numbers are. */
  async #select(rank: number): Promise<number> {
    let prefix = 0;
    let left = rank;
    for (let unit = HIGHEST; unit >= 1; unit /= DIGIT) {
      const counts = new Uint32Array(DIGIT);
      for (const { numbers, length } of await this.#inTurns()) {
        for (let i = 0; i < length; i++) {
          const high = Math.floor((numbers[i] as number) / unit);
          if (unit === HIGHEST || Math.floor(high / DIGIT) === prefix) {
            const digit = high % DIGIT;
            counts[digit] = (counts[digit] as number) + 1;
          }
        }
      }
      let digit = 0;
      while (left > (counts[digit] as number)) left -= counts[digit++] as number;
      prefix = prefix * DIGIT + digit;
    }
    return prefix;
  }

  async #inTurns(): Promise<ReturnType<Durations["lists"]>> {
    if (this.#count > AT_ONCE) await setImmediate();
    return this.lists();
  }

  /** All numbers, in lists of which the first `length` places are used. */
  *lists(): Generator<{ readonly numbers: ArrayLike<number>; readonly length: number }> {
    yield { numbers: this.#few, length: this.#few.length };
    for (const block of this.#blocks) {
      yield { numbers: block, length: block === this.#blocks.at(-1) ? this.#used : block.length };
    }
  }
}
