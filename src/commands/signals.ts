/** Signals that ask the process to end. From now on they end it only through here. */
export class StopSignals {
  readonly #seen: NodeJS.Signals[] = [];
  readonly #waiting: ((signal: NodeJS.Signals) => void)[] = [];

  constructor() {
    // Never taken off again: without a listener the next signal would end the process as it is.
    const onSignal = (signal: NodeJS.Signals) => {
      const tell = this.#waiting.shift();
      if (tell === undefined) this.#seen.push(signal);
      else tell(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  }

  /** Resolves to the first signal that was not told yet. */
  next(): Promise<NodeJS.Signals> {
    const signal = this.#seen.shift();
    if (signal !== undefined) return Promise.resolve(signal);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
