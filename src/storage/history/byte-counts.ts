import type { ResolvedHistoryOptions } from "./history-options.js";
import type { Entry, LogStore, SessionRecord } from "./log-store.js";

/** How long to wait at most before what was noted is written. */
const FLUSH_MS = 1000;
/** How long to wait after a failure. */
const RETRY_MS = 5000;

/** The bytes that the bodies of entries take in a store. */
export function bytesOf(entries: readonly Pick<Entry, "body">[]): number {
  let bytes = 0;
  for (const { body } of entries) bytes += body.storedBytes;
  return bytes;
}

/**
 * Counts the bytes that are stored in the logs of each session. What this process has written or removed is noted, and
 * added to the counts in the store once a second at most, so that an append needs no statement more. A process that is
 * killed loses what it has noted; `sweep --repair` counts anew.
 */
export class ByteCounts {
  readonly #store: LogStore;
  readonly #options: ResolvedHistoryOptions;
  /** Whether quotas limit bytes, so that all sessions are to be counted. */
  readonly isOn: boolean;
  #noted = new Map<string, number>();
  #cancelTimer: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #isFailing = false;

  constructor(store: LogStore, options: ResolvedHistoryOptions) {
    this.#store = store;
    this.#options = options;
    this.isOn = Object.values(options.quotas).some((quota) => quota?.bytes !== undefined);
  }

  /** Whether the bytes of a session are counted. A process may not have read yet that they are. */
  counts({ isCounted }: Pick<SessionRecord, "isCounted">): boolean {
    return this.isOn || isCounted === true;
  }

  /** Notes that so many bytes were stored in the logs of a session, or, if negative, removed from them. */
  note({ uid }: Pick<SessionRecord, "uid">, bytes: number): void {
    if (bytes === 0) return;
    this.#noted.set(uid, (this.#noted.get(uid) ?? 0) + bytes);
    this.#flushIn(this.#isFailing ? RETRY_MS : FLUSH_MS);
  }

  /** Forgets what was noted of a session, because its entries are about to be measured. */
  async forget({ uid }: Pick<SessionRecord, "uid">): Promise<void> {
    await this.#writing;
    this.#noted.delete(uid);
  }

  /** Writes what was noted. If that fails, it stays noted for later. */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#noted.size === 0) return this.#writing;
    const noted = this.#noted;
    this.#noted = new Map();
    this.#writing = this.#writing.then(() => this.#write(noted));
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

  async #write(noted: ReadonlyMap<string, number>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#store.addBytes(noted, { signal });
      this.#isFailing = false;
    } catch (error) {
      if (signal.aborted || !this.#isFailing) {
        const sessions = noted.size === 1 ? "1 session" : `${noted.size} sessions`;
        this.#options.onAnomaly(
          `The bytes of ${sessions} could not be counted; sweep --repair counts them anew`,
          error,
        );
      }
      this.#isFailing = true;
      if (signal.aborted) return;
      for (const [uid, bytes] of noted) this.#noted.set(uid, bytes + (this.#noted.get(uid) ?? 0));
      this.#flushIn(RETRY_MS);
    }
  }

  #flushIn(delayMs: number): void {
    this.#cancelTimer ??= this.#options.startTimer(delayMs, () => void this.flush());
  }
}
