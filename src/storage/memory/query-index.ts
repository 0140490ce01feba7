import { titleWords } from "../../domain/session-order.js";
import type { FoundRecords, QueryPage, RecordQuery, SessionRecord } from "../history/log-store.js";
import { comparePlaces, GATHERED_PART, MOST_LOOKED_AT, meets, placeIn } from "../history/record-queries.js";
import { type OrderedRecords, RecordOrder } from "./record-order.js";

/** The living records of one namespace by their titles and by when they were created. */
export class QueryIndex {
  readonly #byTitle = new RecordOrder("title");
  readonly #byCreateTime = new RecordOrder("create_time");
  /** By uid, for each word of a title. */
  readonly #byWord = new Map<string, Map<string, SessionRecord>>();

  add(record: SessionRecord): void {
    this.#byTitle.add(record);
    this.#byCreateTime.add(record);
    for (const word of titleWords(record.title)) {
      const having = this.#byWord.get(word);
      if (having === undefined) this.#byWord.set(word, new Map([[record.uid, record]]));
      else having.set(record.uid, record);
    }
  }

  remove(record: SessionRecord): void {
    this.#byTitle.remove(record);
    this.#byCreateTime.remove(record);
    for (const word of titleWords(record.title)) {
      const having = this.#byWord.get(word);
      having?.delete(record.uid);
      if (having?.size === 0) this.#byWord.delete(word);
    }
  }

  /** The records that have a word, for each of the words. */
  having(words: readonly string[]): readonly ReadonlyMap<string, SessionRecord>[] {
    return words.map((word) => this.#byWord.get(word) ?? new Map());
  }

  /**
   * The records of a page. `candidates` are those that meet one of the conditions, in any order, and `newest` are all,
   * or those that meet some conditions, by update time, without those of other times than the query asks for.
   */
  find(
    query: RecordQuery,
    { limit, after, lookAt = MOST_LOOKED_AT }: QueryPage,
    { candidates, size, newest }: Candidates,
  ): FoundRecords {
    const { order } = query;
    if (size <= lookAt * GATHERED_PART) {
      const met = [...candidates()].filter((record) => meets(record, query));
      const found = met.map((record) => ({ record, place: placeIn(record, order) }));
      const following = found.filter(({ place }) => after === undefined || comparePlaces(place, after, order) > 0);
      following.sort((a, b) => comparePlaces(a.place, b.place, order));
      const page = following.slice(0, limit);
      const next = page.length < following.length ? (page.at(-1)?.place ?? null) : null;
      return { records: page.map(({ record }) => record), next };
    }
    const walked = { update_time: newest, create_time: this.#byCreateTime, title: this.#byTitle }[order.by];
    const records: SessionRecord[] = [];
    let vain = 0;
    for (const record of walked.after(after, order.descending)) {
      if (meets(record, query)) records.push(record);
      else vain++;
      if (records.length === limit || vain === lookAt) return { records, next: placeIn(record, order) };
    }
    return { records, next: null };
  }
}

export interface Candidates {
  readonly candidates: () => Iterable<SessionRecord>;
  readonly size: number;
  readonly newest: OrderedRecords;
}
