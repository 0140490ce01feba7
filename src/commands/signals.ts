/** Signals that ask the process to end. Once this exists, they end the process only through it. */
export class StopSignals {
  readonly #seen: NodeJS.Signals[] = [];
  readonly #waiting: ((signal: NodeJS.Signals) => void)[] = [];

  constructor() {
    // The listener is never removed, because without one the next signal would end the process immediately.
    const onSignal = (signal: NodeJS.Signals) => {
      const tell = this.#waiting.shift();
      if (tell === undefined) this.#seen.push(signal);
      else tell(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  }

  /** Resolves to the first signal that was not returned yet. */
  next(): Promise<NodeJS.Signals> {
    const signal = this.#seen.shift();
    if (signal !== undefined) return Promise.resolve(signal);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
