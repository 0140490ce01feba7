import { SearchBuilder, type SearchNotices } from "./search-builder.js";

/** How often it looks for entries that a process without `--search` has stored. */
const LOOK_MS = 60_000;

/** Adds some of the entries that the index lacks; resolves to how many it found, 0 when none is left. */
type IndexSome = (signal: AbortSignal) => Promise<number>;

/** Builds an index of words at the start, and again and again for what processes without `--search` store meanwhile. */
export class SearchIndexer {
  readonly #indexSome: IndexSome;
  readonly #notices: SearchNotices;
  readonly #timer: NodeJS.Timeout;
  #builder: SearchBuilder;
  #isStopped = false;

  constructor(indexSome: IndexSome, notices: SearchNotices) {
    this.#indexSome = indexSome;
    this.#notices = notices;
    this.#builder = this.#build();
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  /** Resolves when every entry that is there now has its words, or building has failed or was stopped. */
  async look(): Promise<void> {
    const running = this.#builder;
    await running.finished;
    if (this.#builder === running && !this.#isStopped) this.#builder = this.#build();
    await this.#builder.finished;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#builder.stop();
  }

  #build(): SearchBuilder {
    let entries = 0;
    return new SearchBuilder(async (signal) => {
      const found = await this.#indexSome(signal);
      entries += found;
      return { entries, done: found === 0 };
    }, this.#notices);
  }
}
