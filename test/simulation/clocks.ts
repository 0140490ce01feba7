import type { Random } from "./random.js";

/** What goes wrong with the clocks in the run of one seed. Probabilities are for each step. */
export interface ClockWeather {
  /** The probability that some clock jumps, stops for a while or begins to run at another rate. */
  readonly fault: number;
  /**
   * The probability that a process that stops is suspended with its machine, so that its steady clock does not count
   * the time.
   */
  readonly suspended: number;
  /** How far clocks jump, and how long they stand still. */
  readonly sizesMs: readonly number[];
}

export const RIGHT_CLOCKS: ClockWeather = { fault: 0, suspended: 0, sizesMs: [] };

/**
 * How a clock may go wrong. A wall clock may jump either way. A steady clock never goes back. Neither does a store's
 * clock of operations (`operationTime`), but it may jump ahead when another node takes over.
 */
export type ClockKind = "wall" | "steady" | "operations";

const RATES = [1, 1, 0.8, 1.25];

/** A clock that is derived from the true time of a run. It may stand still, jump, and run too fast or too slowly. */
export class SimClock {
  readonly kind: ClockKind;
  readonly #trueMs: () => number;
  #sinceMs: number;
  #valueMs: number;
  #rate = 1;
  /** The clock stands still until this true time. */
  #stillUntilMs = 0;

  constructor(kind: ClockKind, trueMs: () => number, offsetMs: number) {
    this.kind = kind;
    this.#trueMs = trueMs;
    this.#sinceMs = trueMs();
    this.#valueMs = this.#sinceMs + offsetMs;
  }

  read(): number {
    const fromMs = Math.max(this.#sinceMs, this.#stillUntilMs);
    return this.#valueMs + this.#rate * Math.max(this.#trueMs() - fromMs, 0);
  }

  jump(ms: number): void {
    this.#settle();
    this.#valueMs += this.kind === "wall" ? ms : Math.abs(ms);
  }

  standUntil(trueMs: number): void {
    this.#settle();
    this.#stillUntilMs = Math.max(this.#stillUntilMs, trueMs);
  }

  goAt(rate: number): void {
    this.#settle();
    this.#rate = rate;
  }

  /** Makes the clock right from now on, and gives it at least this value. */
  heal(leastMs: number): void {
    this.#settle();
    this.#rate = 1;
    this.#stillUntilMs = 0;
    this.#valueMs = Math.max(this.#valueMs, leastMs);
  }

  /** Makes the clock jump, stop for a while, or run at another rate. */
  fail(random: Random, weather: ClockWeather): void {
    const sizeMs = random.pick(weather.sizesMs);
    const what = random.int(3);
    if (what === 0) this.jump(random.chance(0.5) ? sizeMs : -sizeMs);
    else if (what === 1) this.standUntil(this.#trueMs() + sizeMs);
    else this.goAt(random.pick(RATES));
  }

  #settle(): void {
    this.#valueMs = this.read();
    this.#sinceMs = this.#trueMs();
  }
}
