import type { Call } from "../../domain/call.js";
import type { Head, HistoryContext } from "./heads.js";
import { NotedFigures } from "./noted-figures.js";

/** How old the stored time may be when an append is acknowledged, so that killing a process loses no more than this. */
const MOST_BEHIND_MICROS = 60_000_000;

/**
 * Update times of sessions that were appended to, for stores whose `append` does not write them. They are noted here,
 * and written for all sessions together a moment later. For other stores this does nothing.
 */
export class UpdateTimes {
  readonly #context: HistoryContext;
  readonly #noted: NotedFigures;
  /** The times that this process has written, for the sessions that it wrote most recently. */
  readonly #written = new Map<string, number>();

  constructor(context: HistoryContext) {
    const { startTimer, onAnomaly, touchDelayMs } = context.options;
    this.#context = context;
    this.#noted = new NotedFigures({
      ...{ startTimer, onAnomaly, delayMs: touchDelayMs },
      merge: (before, now) => Math.max(before, now),
      write: async (times, signal) => {
        await context.store.touchRecords?.(times, { signal });
        this.#remember(times);
      },
      failure: (count) => {
        const what = count === 1 ? "update time of 1 session" : `update times of ${count} sessions`;
        return `The ${what} could not be written`;
      },
    });
  }

  note({ record }: Pick<Head, "record">): void {
    if (this.#context.store.touchRecords === undefined) return;
    this.#noted.note(record.uid, this.#context.options.nowMicros());
  }

  /**
   * Writes the time of a session at once when the stored one is more than a minute old, or a minute ahead because a
   * clock was set back; otherwise returns undefined. This runs beside an append and is awaited with it. So lists order
   * a session by a time that is at most a minute older than its last acknowledged append, even if this process is
   * killed before it writes the times that it has noted.
   */
  writeOld({ record }: Head, call: Call | undefined): Promise<void> | undefined {
    const { store, options } = this.#context;
    if (store.touchRecords === undefined) return undefined;
    const { uid } = record;
    const nowMicros = options.nowMicros();
    const stored = [record.updateTimeMicros, this.#written.get(uid) ?? Number.NEGATIVE_INFINITY];
    if (stored.some((micros) => Math.abs(nowMicros - micros) <= MOST_BEHIND_MICROS)) return undefined;
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
    return this.#noted.flush();
  }

  /** Writes the noted times until the deadline at most, and reports those that could not be written by then. */
  close(limit: { readonly deadlineMs: number }): Promise<void> {
    return this.#noted.close(limit);
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
}
