import type { Call } from "../../domain/call.js";
import type { Head, HistoryContext } from "./heads.js";

/** How long to wait after a failure before the times are written again. */
const RETRY_MS = 5000;
/** How old the stored time may be when an append is acknowledged, so that killing a process loses no more than this. */
const MOST_BEHIND_MICROS = 60_000_000;

/**
 * Update times of sessions that were appended to, for stores whose `append` does not write them. They are noted here,
 * and written for all sessions together a moment later. For other stores this does nothing.
 */
export class UpdateTimes {
  readonly #context: HistoryContext;
  readonly #noted = new Map<string, number>();
  /** The times that this process has written, for the sessions that it wrote most recently. */
  readonly #written = new Map<string, number>();
  readonly #stop = new AbortController();
  #cancelTimer: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  note({ record }: Pick<Head, "record">): void {
    if (this.#context.store.touchRecords === undefined) return;
    this.#noted.set(record.uid, this.#context.options.nowMicros());
    this.#flushIn(this.#isFailing ? RETRY_MS : this.#context.options.touchDelayMs);
  }

  /**
   * Writes the time of a session at once when the stored one is more than a minute old; otherwise returns undefined.
   * This runs beside an append and is awaited with it. So lists order a session by a time that is at most a minute
   * older than its last acknowledged append, even if this process is killed before it writes the times that it has
   * noted.
   */
  writeOld({ record }: Head, call: Call | undefined): Promise<void> | undefined {
    const { store, options } = this.#context;
    if (store.touchRecords === undefined) return undefined;
    const { uid } = record;
    const nowMicros = options.nowMicros();
    const storedMicros = Math.max(record.updateTimeMicros, this.#written.get(uid) ?? 0);
    if (nowMicros - storedMicros <= MOST_BEHIND_MICROS) return undefined;
    const times = new Map([[uid, nowMicros]]);
    return store.touchRecords(times, call).then(
      () => this.#remember(times),
      // The append does not fail because of this. Its time is noted afterwards and written together with the others,
      // and a failure of that write is reported.
      () => undefined,
    );
  }

  /**
   * Writes the noted times. Those that could not be written stay noted for later; GetSession does not depend on them.
   */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#noted.size === 0) return this.#writing;
    const times = new Map(this.#noted);
    this.#noted.clear();
    this.#writing = this.#writing.then(() => this.#write(times));
    return this.#writing;
  }

  /** Writes the noted times until the deadline at most, and reports those that could not be written by then. */
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

  async #write(times: ReadonlyMap<string, number>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await this.#context.store.touchRecords?.(times, { signal });
      this.#remember(times);
      this.#isFailing = false;
    } catch (error) {
      if (signal.aborted || !this.#isFailing) {
        const what = times.size === 1 ? "update time of 1 session" : `update times of ${times.size} sessions`;
        this.#context.options.onAnomaly(`The ${what} could not be written`, error);
      }
      this.#isFailing = true;
      if (signal.aborted) return;
      for (const [uid, micros] of times) this.#noted.set(uid, Math.max(micros, this.#noted.get(uid) ?? micros));
      this.#flushIn(RETRY_MS);
    }
  }

  #remember(times: ReadonlyMap<string, number>): void {
    for (const [uid, micros] of times) {
      this.#written.delete(uid);
      this.#written.set(uid, micros);
    }
    for (const uid of this.#written.keys()) {
      if (this.#written.size <= this.#context.options.maxHeads) break;
      this.#written.delete(uid);
    }
  }

  #flushIn(delayMs: number): void {
    if (Number.isFinite(this.#context.options.touchDelayMs)) {
      this.#cancelTimer ??= this.#context.options.startTimer(delayMs, () => void this.flush());
    }
  }
}
