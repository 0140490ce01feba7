import type { Call } from "../domain/call.js";
import type { Logger } from "../server/logging.js";
import type { StoreFigures } from "../storage/history/log-store.js";

const INTERVAL_MS = 30_000;
/** Reading takes at most this share of the time, so a store that needs long is asked less often. */
const MOST_SHARE = 1 / 100;
/** How long one reading may take. */
const LIMIT_MS = 10_000;
/** For how many intervals figures are shown if no newer ones can be read. */
const SHOWN_INTERVALS = 3;

/** Reads figures about the store now and then, in the background, so that nobody waits for them. */
export class LatestFigures {
  readonly #read: (call: Call) => Promise<StoreFigures | null>;
  readonly #logger: Logger;
  readonly #clockMs: () => number;
  readonly #stopped = new AbortController();
  #latest: StoreFigures | undefined;
  #shownUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  /** `read` resolves to null where the store has no figures. `clockMs` is a steady clock. */
  constructor(
    read: (call: Call) => Promise<StoreFigures | null>,
    logger: Logger,
    clockMs: () => number = () => performance.now(),
  ) {
    this.#read = read;
    this.#logger = logger;
    this.#clockMs = clockMs;
  }

  /** The figures that were read last; undefined when they are too old to be shown. */
  get current(): StoreFigures | undefined {
    return this.#clockMs() < this.#shownUntilMs ? this.#latest : undefined;
  }

  /** Reads figures now, and then again and again. */
  start(): void {
    this.#reading = this.#readOnce().then((pauseMs) => {
      if (pauseMs === null || this.#stopped.signal.aborted) return;
      this.#timer = setTimeout(() => this.start(), pauseMs).unref();
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await this.#reading;
  }

  /** Resolves to how long to wait before the next time; null when there will never be figures. */
  async #readOnce(): Promise<number | null> {
    const { signal } = this.#stopped;
    const startMs = this.#clockMs();
    try {
      const figures = await this.#read({ signal, deadlineMs: Date.now() + LIMIT_MS });
      if (figures === null) return null;
      const endMs = this.#clockMs();
      const pauseMs = Math.max(INTERVAL_MS, (endMs - startMs) / MOST_SHARE);
      this.#latest = figures;
      this.#shownUntilMs = endMs + SHOWN_INTERVALS * pauseMs;
      return pauseMs;
    } catch (err) {
      if (!signal.aborted) this.#logger.warn({ err }, "Figures about the store could not be read");
      return INTERVAL_MS;
    }
  }
}
