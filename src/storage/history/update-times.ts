import type { Head, HistoryContext } from "./heads.js";

/** `update_time` of sessions that were appended to: noted here, and written for all of them together a moment later. */
export class UpdateTimes {
  readonly #context: HistoryContext;
  readonly #noted = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  note({ record }: Head): void {
    this.#noted.set(record.uid, this.#context.options.nowMicros());
    const { touchDelayMs } = this.#context.options;
    if (Number.isFinite(touchDelayMs)) this.#timer ??= setTimeout(() => void this.flush(), touchDelayMs).unref();
  }

  /** Writes what is noted. A failure is told and costs nothing but the time: GetSession does not depend on it. */
  flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#noted.size === 0) return this.#writing;
    const times = new Map(this.#noted);
    this.#noted.clear();
    this.#writing = this.#writing.then(async () => {
      try {
        await this.#context.store.touchRecords(times);
      } catch (error) {
        this.#context.options.onAnomaly("The update times of sessions could not be written", error);
      }
    });
    return this.#writing;
  }

  close(): Promise<void> {
    return this.flush();
  }
}
