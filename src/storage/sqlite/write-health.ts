import type { DomainError } from "../../domain/errors.js";
import { isBusy } from "./sqlite-errors.js";

/** How long only failures may be seen before writes count as impossible. */
const FAILING_MS = 5000;

interface Failing {
  readonly sinceMs: number;
  /** The newest failure and its time. */
  readonly error: DomainError;
  readonly atMs: number;
}

/** Since when writes have failed, or have waited for the lock, without a success in between. */
export class WriteHealth {
  readonly #clockMs: () => number;
  #failing: Failing | null = null;

  /** `clockMs` is a steady clock; only differences are used. */
  constructor(clockMs: () => number) {
    this.#clockMs = clockMs;
  }

  succeeded(): void {
    this.#failing = null;
  }

  failed(error: DomainError): void {
    const atMs = this.#clockMs();
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? atMs, error, atMs };
  }

  /** The newest failure, if nothing else has been seen for five seconds. */
  get problem(): DomainError | null {
    return this.#failing && this.#clockMs() - this.#failing.sinceMs >= FAILING_MS ? this.#failing.error : null;
  }

  /** Whether the newest failure was something other than a lock. */
  get wasRefused(): boolean {
    return this.#failing !== null && !isBusy(this.#failing.error.cause);
  }

  /** Whether that was less than five seconds ago. If so, the success of a small write proves nothing. */
  get wasRefusedLately(): boolean {
    return this.wasRefused && this.#clockMs() - (this.#failing as Failing).atMs < FAILING_MS;
  }
}
