import { setTimeout } from "node:timers/promises";
import type { SearchTable } from "./search-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";

/** How often the progress is reported. */
const NOTICE_MS = 10_000;

export interface SearchNotices {
  readonly onNotice?: ((text: string) => void) | undefined;
  readonly onAnomaly?: ((text: string, error?: unknown) => void) | undefined;
}

/**
 * Adds the entries that a file held before it got its index to that index, in small steps. Each step records its
 * progress in its own transaction, so any number of processes may build the index at once, and killing one loses
 * nothing. Between two steps it waits as long as the last one took.
 */
export class SearchBuilder {
  readonly #connection: SqliteConnection;
  readonly #table: SearchTable;
  readonly #notices: SearchNotices;
  readonly #stopped = new AbortController();
  /** Resolves when all entries are indexed or it was stopped. */
  readonly finished: Promise<void>;

  constructor(connection: SqliteConnection, table: SearchTable, notices: SearchNotices) {
    this.#connection = connection;
    this.#table = table;
    this.#notices = notices;
    this.finished = this.#run().catch((error) => {
      if (this.#stopped.signal.aborted) return;
      this.#notices.onAnomaly?.("Indexing earlier messages for search failed; the next start goes on", error);
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
      const { entries, done } = await this.#connection.write(() => this.#table.indexSome(), { signal });
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
