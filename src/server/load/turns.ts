/** Lets so many run at a time; the others wait, and each that ends lets the one begin that has waited for longest. */
export class Turns {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs it now or later; answers what must be called once, when it has ended or is not wanted any more. */
  take(run: () => void): () => void {
    if (this.#running < this.#limit) {
      this.#running += 1;
      // Not before the caller has what ends it.
      queueMicrotask(run);
    } else {
      this.#waiting.add(run);
    }
    return () => {
      if (!this.#waiting.delete(run)) this.#next();
    };
  }

  /** After whatever others have sent meanwhile: one client's calls, which came all at once, must not be answered all at once. */
  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    setImmediate(next);
  }
}
