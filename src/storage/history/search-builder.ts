import { setTimeout } from "node:timers/promises";

/** How often the progress is reported. */
const NOTICE_MS = 10_000;

export interface SearchNotices {
  readonly onNotice?: ((text: string) => void) | undefined;
  readonly onAnomaly?: ((text: string, error?: unknown) => void) | undefined;
}

/** Adds some entries to an index: resolves to how many were examined so far, and whether those were all. */
export type IndexSome = (signal: AbortSignal) => Promise<{ readonly entries: number; readonly done: boolean }>;

/**
 * Adds the entries that were stored before there was an index of words to that index, in small steps. Each step must
 * store how far it went, so that any number of processes may build the index at once, and killing one loses nothing.
 * Between two steps it waits as long as the last one took.
 */
export class SearchBuilder {
  readonly #indexSome: IndexSome;
  readonly #notices: SearchNotices;
  readonly #stopped = new AbortController();
  /** Resolves when all entries are indexed or it was stopped. */
  readonly finished: Promise<void>;

  constructor(indexSome: IndexSome, notices: SearchNotices) {
    this.#indexSome = indexSome;
    this.#notices = notices;
    this.finished = this.#run().catch((error) => {
      if (this.#stopped.signal.aborted) return;
      this.#notices.onAnomaly?.("Indexing earlier messages for search failed; it will be tried again later", error);
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.finished;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let noticedMs = performance.now();
    for (let steps = 0; ; steps++) {
      const startMs = performance.now();
      const { entries, done } = await this.#indexSome(signal);
      if (done && steps > 0 && entries > 0) {
        this.#notices.onNotice?.(`Earlier messages are indexed for search: ${entries}`);
      }
      if (done) return;
      const endMs = performance.now();
      if (steps === 0 || endMs - noticedMs >= NOTICE_MS) {
        noticedMs = endMs;
        this.#notices.onNotice?.(`Indexing earlier messages for search: ${entries} so far`);
      }
      await setTimeout(endMs - startMs, undefined, { signal });
    }
  }
}
