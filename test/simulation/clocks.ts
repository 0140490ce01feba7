import type { Random } from "./random.js";

/** What befalls the clocks of one seed. Probabilities are for each step. */
export interface ClockWeather {
  /** Some clock is jumped, stopped for a while or made to go at another rate. */
  readonly fault: number;
  /** A process that stops is suspended with its machine: its steady clock does not count the time. */
  readonly suspended: number;
  /** How far clocks jump, and how long they stand still. */
  readonly sizesMs: readonly number[];
}

export const RIGHT_CLOCKS: ClockWeather = { fault: 0, suspended: 0, sizesMs: [] };

/**
 * How a clock may go wrong. A wall clock goes either way; a steady one never goes back; a store's clock of operations (`operationTime`) does not, either,
 * but it may jump ahead when another node takes over.
 */
export type ClockKind = "wall" | "steady" | "operations";

const RATES = [1, 1, 0.8, 1.25];

/** A clock over the true time of a run: it may stand still, jump, and go too fast or too slowly. */
export class SimClock {
  readonly kind: ClockKind;
  readonly #trueMs: () => number;
  #sinceMs: number;
  #valueMs: number;
  #rate = 1;
  /** Until this true time it stands still. */
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

  /** Goes right from now on, and has at least this value. */
  heal(leastMs: number): void {
    this.#settle();
    this.#rate = 1;
    this.#stillUntilMs = 0;
    this.#valueMs = Math.max(this.#valueMs, leastMs);
  }

  /** What may happen to it at a step. */
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
