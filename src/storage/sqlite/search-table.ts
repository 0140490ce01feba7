import type Database from "libsql";
import { invalidArgument } from "../../domain/errors.js";
import { MessageBody } from "../../domain/message-body.js";
import { type SearchScope, type SearchTerm, wordsOf } from "../../domain/search.js";
import type { EntrySearch, FoundEntries, SearchedPage } from "../history/log-store.js";
import { searchedText } from "../history/searched-text.js";
import { fromColumn, toColumn } from "../text-column.js";
import { SEARCH_SQL } from "./search-schema.js";
import { type Row, Statement } from "./statements.js";

const LAST_PLACE = 9223372036854775807n;
/** Timestamps in places are clamped to this, and messages of one microsecond may take places of the hour after it. */
const LAST_MICROS = 9007199253000000;
const HOUR_MICROS = 3_600_000_000;
/** How much one step of indexing takes on, so that the event loop stays responsive. */
const STEP_ENTRIES = 100;
const STEP_BYTES = 128 * 1024;

/**
 * The index of words of a file that has one. All methods are synchronous; changes must be made inside a transaction
 * that the caller holds.
 */
export class SearchTable {
  readonly #sql: { readonly [name in keyof typeof SEARCH_SQL]: Statement };

  constructor(db: Database.Database) {
    this.#sql = {
      find: new Statement(db, SEARCH_SQL.find),
      progress: new Statement(db, SEARCH_SQL.progress),
      setProgress: new Statement(db, SEARCH_SQL.setProgress),
      entriesAfter: new Statement(db, SEARCH_SQL.entriesAfter),
      scope: new Statement(db, SEARCH_SQL.scope),
      placeEntry: new Statement(db, SEARCH_SQL.placeEntry),
      noteEntry: new Statement(db, SEARCH_SQL.noteEntry),
      pending: new Statement(db, SEARCH_SQL.pending),
      pendingCount: new Statement(db, SEARCH_SQL.pendingCount),
      olderCount: new Statement(db, SEARCH_SQL.olderCount),
      pendingEntry: new Statement(db, SEARCH_SQL.pendingEntry),
      removeWords: new Statement(db, SEARCH_SQL.removeWords),
      addWords: new Statement(db, SEARCH_SQL.addWords),
      removePending: new Statement(db, SEARCH_SQL.removePending),
    };
  }

  /** The rows of a query. */
  find(query: SearchQuery): Row[] {
    return this.#sql.find.all(...query);
  }

  /** Whether entries wait for their words. */
  hasPending(): boolean {
    return this.#sql.pending.get(1) !== undefined;
  }

  /** How many entries have no words yet, of which at most this many are counted. */
  unindexed(most: number): number {
    const [pending] = this.#sql.pendingCount.get(most) as [number];
    const { log, seq, done } = this.#progress();
    if (done) return pending;
    const [older] = this.#sql.olderCount.get(log, seq, most) as [number];
    return Math.min(most, pending + older);
  }

  /** Adds the words of some of the entries that wait for them. */
  indexPending(): void {
    const rows = this.#sql.pending.all(STEP_ENTRIES) as [string, string, number, number][];
    // Another process may have extended the index.
    const [what] = this.#sql.scope.get() as [SearchScope];
    for (const [place, log, seq] of firstOf(rows)) {
      const [scope, body] = (this.#sql.pendingEntry.get(log, seq) ?? []) as [string?, Buffer?];
      const words = wordsIn(body, what);
      this.#sql.removeWords.run(place);
      if (words !== "") this.#sql.addWords.run(place, scope as string, words);
      this.#sql.removePending.run(place);
    }
  }

  /**
   * Adds the words of some entries: of those that wait for them, and then of those that are older than the index.
   * Returns how many older ones were examined so far, and whether nothing is left.
   */
  indexSome(): { readonly entries: number; readonly done: boolean } {
    if (!this.hasPending()) this.#placeSome();
    this.indexPending();
    const { entries, done } = this.#progress();
    return { entries, done: done && !this.hasPending() };
  }

  #placeSome(): void {
    const { log, seq, done } = this.#progress();
    if (done) return;
    const rows = this.#sql.entriesAfter.all(log, seq, STEP_ENTRIES) as [string, number, number][];
    const some = firstOf(rows);
    const isLast = some.length === rows.length && rows.length < STEP_ENTRIES;
    const [endLog, endSeq] = some.at(-1) ?? [log, seq];
    for (const [entryLog, entrySeq] of some) {
      this.#sql.placeEntry.run(entryLog, entrySeq);
      this.#sql.noteEntry.run(entryLog, entrySeq);
    }
    this.#sql.setProgress.run(endLog, endSeq, some.length, isLast ? 1 : 0);
  }

  #progress() {
    const [log, seq, entries, done] = this.#sql.progress.get() as [string, number, number, number];
    return { log, seq, entries, done: done === 1 };
  }
}

/** As many rows as one step takes on, and at least one. The last column is the size. */
function firstOf<T extends readonly [...unknown[], number]>(rows: readonly T[]): readonly T[] {
  let bytes = 0;
  const over = rows.findIndex((row) => {
    bytes += row.at(-1) as number;
    return bytes > STEP_BYTES;
  });
  return over < 0 ? rows : rows.slice(0, Math.max(over, 1));
}

/** The words of a stored body. Another program may have stored something that is none. */
function wordsIn(body: Buffer | undefined, scope: SearchScope): string {
  if (body === undefined) return "";
  try {
    const text = searchedText(MessageBody.stored(body), scope);
    return Array.from(wordsOf(text), ({ word }) => word).join(" ");
  } catch {
    return "";
  }
}

/**
 * The parameters of `SEARCH_SQL.find`: what matches, the places and times between which it has to be, and how many. The
 * upper bounds are excluded.
 */
export type SearchQuery = readonly [
  match: string,
  before: string,
  from: string,
  sinceMicros: string,
  untilMicros: string,
  limit: number,
];

export function searchQuery(
  namespace: string,
  { terms, owners, sinceMicros, untilMicros }: EntrySearch,
  { limit, after }: SearchedPage,
): SearchQuery {
  if (after !== undefined && !/^-?\d{1,19}$/.test(after)) throw invalidArgument("page_token belongs to another store");
  const before = after === undefined ? LAST_PLACE : BigInt(after);
  const end = untilMicros === undefined ? LAST_PLACE : placeAt(untilMicros) + placeAt(HOUR_MICROS);
  return [
    matchOf(namespace, terms, owners),
    String(before < end ? before : end < LAST_PLACE ? end : LAST_PLACE),
    String(placeAt(sinceMicros ?? -LAST_MICROS)),
    String(sinceMicros ?? -LAST_PLACE),
    String(untilMicros ?? LAST_PLACE),
    limit,
  ];
}

/** The first place of the messages of a microsecond. */
function placeAt(micros: number): bigint {
  return BigInt(Math.min(Math.max(micros, -LAST_MICROS), LAST_MICROS)) * 1024n;
}

/** The entries of the rows that a query has found. */
export function foundEntries(rows: readonly Row[], limit: number): FoundEntries {
  const entries = rows.map((row) => {
    const [place, log, seq, origin, role] = row as [string, string, number, string, string];
    return { place, log: fromColumn(log), seq, originSessionId: fromColumn(origin), role: fromColumn(role) };
  });
  return { entries, next: entries.length < limit ? null : (entries.at(-1)?.place ?? null) };
}

/** A query in the language of FTS5, in which the words of a caller are quoted. */
function matchOf(namespace: string, terms: readonly SearchTerm[], owners: readonly string[] | undefined): string {
  const phrases = terms.map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`);
  const ofOwners = owners === undefined ? "" : `scope : (${owners.map((uid) => `u${hex(uid)}`).join(" OR ")}) AND `;
  return `scope : n${hex(namespace)} AND ${ofOwners}text : (${phrases.join(" AND ")})`;
}

function hex(text: string): string {
  return Buffer.from(toColumn(text)).toString("hex");
}
