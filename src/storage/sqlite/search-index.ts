import { type Call, checkCall } from "../../domain/call.js";
import { SearchBuilder, type SearchNotices } from "../history/search-builder.js";
import type { SearchTable } from "./search-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";

/** How often it looks for entries that wait for their words, so that a search finds few of them. */
const LOOK_MS = 1000;
/** How many steps a search waits for at most. */
const MOST_STEPS = 50;

/**
 * Adds words to the index of a file: those of entries that are older than the index, and those of entries that any
 * process has written since. Any number of processes may do so at once, and killing one loses nothing.
 */
export class SearchIndex {
  readonly #connection: Pick<SqliteConnection, "read" | "write">;
  readonly #table: SearchTable;
  readonly #notices: SearchNotices;
  readonly #builder: SearchBuilder;
  readonly #stopped = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  /** The call of `look` that the timer has made. */
  #ticking: Promise<void> | undefined;

  constructor(connection: Pick<SqliteConnection, "read" | "write">, table: SearchTable, notices: SearchNotices) {
    this.#connection = connection;
    this.#table = table;
    this.#notices = notices;
    this.#builder = new SearchBuilder((signal) => connection.write(() => table.indexSome(), { signal }), notices);
    this.#timer = setInterval(() => {
      // The earlier messages may take hours.
      this.#ticking ??= this.look().finally(() => {
        this.#ticking = undefined;
      });
    }, LOOK_MS).unref();
  }

  /** Resolves when everything that is stored now has its words, or when adding them has failed or was stopped. */
  async look(): Promise<void> {
    await this.#builder.finished;
    // One that runs already may have looked before the latest entry was written.
    await this.#looking;
    this.#looking ??= this.#addPending().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /**
   * Adds the words of what was written before the call, so that a search finds it. When that is very much, which only
   * processes without `--search` can leave, some of it stays for later. If it cannot be written, because the disk is
   * full, say, what the index has can still be searched; `look` reports the failure. Rejects when the call ends.
   */
  async catchUp(call: Call | undefined): Promise<void> {
    try {
      await this.#takeSteps(MOST_STEPS, call);
    } catch {
      checkCall(call);
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#builder.stop();
    await this.#looking;
  }

  /**
   * Adds words until none are missing, in this many steps at most. Between two steps, the connection does other writes.
   * There are no pauses, or it could not keep up with many writers.
   */
  async #takeSteps(most: number, call: Call | undefined): Promise<void> {
    for (let steps = 0; steps < most && (await this.#connection.read(() => this.#table.hasPending(), call)); steps++) {
      await this.#connection.write(() => this.#table.indexPending(), call);
    }
  }

  async #addPending(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      await this.#takeSteps(Number.POSITIVE_INFINITY, { signal });
    } catch (error) {
      if (signal.aborted) return;
      this.#notices.onAnomaly?.("Indexing messages for search failed; it will be tried again", error);
    }
  }
}
