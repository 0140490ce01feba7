import type { ResolvedHistoryOptions } from "./history-options.js";

/** How long to wait after a failure before the figures are written again. */
const RETRY_MS = 5000;

export interface NotedFiguresOptions extends Pick<ResolvedHistoryOptions, "startTimer" | "onAnomaly"> {
  /** How long a figure may wait at most; with Infinity, until `flush`. */
  readonly delayMs: number;
  /** What was noted for a uid, when something else is noted for it before that was written. */
  readonly merge: (before: number, now: number) => number;
  readonly write: (figures: ReadonlyMap<string, number>, signal: AbortSignal) => Promise<void>;
  /** What could not be written, by the number of sessions. */
  readonly failure: (sessions: number) => string;
}

/** Figures about sessions that are noted here by uid, and written for all of them together a moment later. */
export class NotedFigures {
  readonly #options: NotedFiguresOptions;
  readonly #stop = new AbortController();
  #noted = new Map<string, number>();
  #cancelTimer: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: NotedFiguresOptions) {
    this.#options = options;
  }

  note(uid: string, figure: number): void {
    const before = this.#noted.get(uid);
    this.#noted.set(uid, before === undefined ? figure : this.#options.merge(before, figure));
    this.#flushIn(this.#isFailing ? RETRY_MS : this.#options.delayMs);
  }

  /** Forgets what was noted for a session, once what is being written has been written. */
  async forget(uid: string): Promise<void> {
    await this.#writing;
    this.#noted.delete(uid);
  }

  /** Writes what was noted. What could not be written stays noted for later. */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#noted.size === 0) return this.#writing;
    const figures = this.#noted;
    this.#noted = new Map();
    this.#writing = this.#writing.then(() => this.#write(figures));
    return this.#writing;
  }

  /** Writes what was noted until the deadline at most, and reports what could not be written by then. */
  async close({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), Math.max(0, deadlineMs - Date.now()));
    try {
      await this.flush();
    } finally {
      clearTimeout(timer);
      this.#stop.abort();
      this.#cancelTimer?.();
    }
  }

  async #write(figures: ReadonlyMap<string, number>): Promise<void> {
    const { write, merge, failure, onAnomaly } = this.#options;
    const { signal } = this.#stop;
    try {
      await write(figures, signal);
      this.#isFailing = false;
    } catch (error) {
      if (signal.aborted || !this.#isFailing) onAnomaly(failure(figures.size), error);
      this.#isFailing = true;
      if (signal.aborted) return;
      for (const [uid, figure] of figures) {
        const later = this.#noted.get(uid);
        this.#noted.set(uid, later === undefined ? figure : merge(figure, later));
      }
      this.#flushIn(RETRY_MS);
    }
  }

  #flushIn(delayMs: number): void {
    if (!Number.isFinite(this.#options.delayMs)) return;
    this.#cancelTimer ??= this.#options.startTimer(delayMs, () => void this.flush());
  }
}
