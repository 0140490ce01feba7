import { placeOf } from "./record-feed.js";

/**
 * How long after a place was the last one a change may still become visible there. A process has read the last place at
 * most 20 seconds before it writes, repeats a command for half a minute and up to three of them for one change, and the
 * server ends each of them after half a minute (`timeoutMs`).
 */
const FINAL_MS = 150_000;
/** How often the last place is noted. */
const NOTED_MS = 1000;

/**
 * Up to which place of a feed every change has been carried out: up to what was the last place a while ago by a steady
 * clock. When nothing is known about that time, the places themselves say how old they are.
 */
export class FinalPlaces {
  readonly #steadyMs: () => number;
  /** The last places that were seen, by time. */
  #noted: { readonly atMs: number; readonly last: number }[] = [];

  constructor(steadyMs: () => number = () => performance.now()) {
    this.#steadyMs = steadyMs;
  }

  /** The final place; 0 before anything was noted. */
  get final(): number {
    const dueMs = this.#steadyMs() - FINAL_MS;
    const at = this.#noted.findLastIndex(({ atMs }) => atMs <= dueMs);
    this.#noted = this.#noted.slice(Math.max(0, at));
    return this.#noted[0]?.last ?? 0;
  }

  /** Notes that a place is visible. */
  note(place: number): void {
    const nowMs = this.#steadyMs();
    const dueMs = nowMs - FINAL_MS;
    const latest = this.#noted.at(-1);
    const last = Math.max(place, latest?.last ?? 0);
    if (latest === undefined || latest.atMs < dueMs) {
      this.#noted = [{ atMs: dueMs, last: Math.max(this.final, last - placeOf(FINAL_MS)) }];
    }
    if (nowMs - (this.#noted.at(-1)?.atMs ?? 0) >= NOTED_MS) this.#noted.push({ atMs: nowMs, last });
  }
}
