import type { Call } from "../../../domain/call.js";
import { invalidArgument } from "../../../domain/errors.js";
import { type SearchHit, type SearchTerm, soughtWords } from "../../../domain/search.js";
import { findIn, holdsTerms } from "../../../domain/search-text.js";
import type { SessionOrder } from "../../../domain/session-order.js";
import type { SearchOptions } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import type { RecordPlace, SessionRecord } from "../log-store.js";
import { placeIn } from "../record-queries.js";

const NEWEST_FIRST: SessionOrder = { by: "create_time", descending: true };
/** How many records are found at a time, and how often for one page. */
const AT_ONCE = 100;
const MOST_FINDS = 20;

export interface TitleQuery extends Pick<SearchOptions, "terms" | "labels" | "owner" | "sinceMicros" | "untilMicros"> {
  /** Where an earlier page has ended. */
  readonly after?: string | undefined;
  /** Whether a session with this record may be found. */
  mayBeFound(record: SessionRecord): boolean;
}

/**
 * The sessions whose titles have all terms, by create time, the newest first. It reads them as they are asked for, so
 * that they can be merged with messages.
 */
export class TitleSearch {
  readonly #context: HistoryContext;
  readonly #query: TitleQuery;
  readonly #words: readonly string[];
  readonly #call: Call;
  #found: SessionRecord[] = [];
  #place: RecordPlace | undefined;
  #hasEnded = false;
  #finds = 0;

  /** `only`: the session to which the search is limited. */
  constructor(context: HistoryContext, query: TitleQuery, only: SessionRecord | undefined, call: Call) {
    this.#context = context;
    this.#query = query;
    this.#words = wordsIn(query.terms);
    this.#call = call;
    const { after, untilMicros } = query;
    this.#hasEnded = only !== undefined || after === END;
    if (only !== undefined) {
      // Its title is one hit: a page has given it, and the place is the end, or no page has.
      if (after !== END) this.#found = [only].filter((record) => this.#isFound(record));
      return;
    }
    if (untilMicros !== undefined) this.#place = { key: untilMicros, sessionId: "" };
    if (after !== undefined) this.#place = readPlace(after);
  }

  /** Where a later page goes on. */
  get place(): string | undefined {
    if (this.#hasEnded && this.#found.length === 0) return END;
    return this.#place && writePlace(this.#place);
  }

  /**
   * At most `limit` of the next titles, as long as their sessions were created after a time. `hasAll`: there are no
   * more of them. Otherwise there may be.
   */
  async newerThan(micros: number, limit: number): Promise<{ readonly hits: SearchHit[]; readonly hasAll: boolean }> {
    const hits: SearchHit[] = [];
    for (;;) {
      while (this.#found.length === 0 && !this.#hasEnded && !this.#isPast(micros)) {
        if (this.#finds === MOST_FINDS) return { hits, hasAll: false };
        await this.#findSome();
      }
      const [record] = this.#found;
      if (record === undefined || record.createTimeMicros <= micros) return { hits, hasAll: true };
      if (hits.length === limit) return { hits, hasAll: false };
      this.#found.shift();
      this.#place = placeIn(record, NEWEST_FIRST);
      hits.push(hitOf(record, this.#query.terms));
    }
  }

  #isPast(micros: number): boolean {
    return this.#place !== undefined && (this.#place.key as number) <= micros;
  }

  async #findSome(): Promise<void> {
    this.#finds += 1;
    const { queries } = this.#context.store;
    const { labels, owner, sinceMicros = -Infinity } = this.#query;
    const query = { parentId: "", labels, owner, titleWords: this.#words, order: NEWEST_FIRST };
    const page = { limit: AT_ONCE, after: this.#place };
    const { records, next } = (await queries?.find(query, page, this.#call)) ?? { records: [], next: null };
    const inTime = records.filter(({ createTimeMicros }) => createTimeMicros >= sinceMicros);
    this.#found = inTime.filter((record) => this.#isFound(record));
    this.#hasEnded = next === null || inTime.length < records.length;
    if (this.#found.length === 0 && next !== null) this.#place = next;
  }

  #isFound(record: SessionRecord): boolean {
    const { terms, sinceMicros = -Infinity, untilMicros = Infinity, mayBeFound } = this.#query;
    const { createTimeMicros, title } = record;
    const isInTime = createTimeMicros >= sinceMicros && createTimeMicros < untilMicros;
    return isInTime && mayBeFound(record) && !this.#context.isExpired(record) && holdsTerms(title, terms);
  }
}

/** The words that a title with all terms has for sure. Of a prefix, only a single character is known. */
function wordsIn(terms: readonly SearchTerm[]): readonly string[] {
  return terms.flatMap(({ words, isPrefix }) => {
    const isCharacter = soughtWords(words.at(-1) as string).isPrefix;
    return isPrefix && !isCharacter ? words.slice(0, -1) : words;
  });
}

function hitOf(record: SessionRecord, terms: readonly SearchTerm[]): SearchHit {
  const { sessionId, title, createTimeMicros } = record;
  const { snippet } = findIn([title], terms);
  const place = { sessionId, sessionTitle: title, messageId: "", role: "", position: 0 };
  return { ...place, timestampMicros: createTimeMicros, snippet, field: "title" };
}

const END = "end";

function writePlace({ key, sessionId }: RecordPlace): string {
  return `${key} ${sessionId}`;
}

function readPlace(text: string): RecordPlace | undefined {
  if (text === END) return undefined;
  const [, key, sessionId] = /^(-?\d{1,16}) (.*)$/s.exec(text) ?? [];
  if (sessionId === undefined) throw invalidArgument("page_token is not a token that was given out");
  return { key: Number(key), sessionId };
}
