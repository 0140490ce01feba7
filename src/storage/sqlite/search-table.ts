import type Database from "libsql";
import { invalidArgument } from "../../domain/errors.js";
import type { SearchTerm } from "../../domain/search.js";
import type { EntrySearch, FoundEntries, SearchedPage } from "../history/log-store.js";
import { SEARCH_SQL } from "./search-schema.js";
import { type Row, Statement } from "./statements.js";
import { fromColumn, toColumn } from "./text-column.js";

const LAST_PLACE = "9223372036854775807";
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
      indexEntry: new Statement(db, SEARCH_SQL.indexEntry),
    };
  }

  /** The rows of a query. */
  find(query: SearchQuery): Row[] {
    return this.#sql.find.all(...query);
  }

  /** Adds some of the older entries to the index. Returns how many were examined so far, and whether all were. */
  indexSome(): { readonly entries: number; readonly done: boolean } {
    const [log, seq, before, done] = this.#sql.progress.get() as [string, number, number, number];
    if (done === 1) return { entries: before, done: true };
    const rows = this.#sql.entriesAfter.all(log, seq, STEP_ENTRIES) as [string, number, number, number][];
    let bytes = 0;
    const over = rows.findIndex(([, , , size]) => {
      bytes += size;
      return bytes > STEP_BYTES;
    });
    const some = over < 0 ? rows : rows.slice(0, Math.max(over, 1));
    const isLast = some.length === rows.length && rows.length < STEP_ENTRIES;
    const [endLog, endSeq] = some.at(-1) ?? [log, seq];
    // Writing in the order of places splits the index into fewer pieces.
    const inOrder = some.toSorted(([, , a], [, , b]) => a - b);
    for (const [entryLog, entrySeq] of inOrder) this.#sql.indexEntry.run(entryLog, entrySeq);
    this.#sql.setProgress.run(endLog, endSeq, some.length, isLast ? 1 : 0);
    return { entries: before + some.length, done: isLast };
  }
}

/** The parameters of `SEARCH_SQL.find`: what matches, the place that all found have to be before, and how many. */
export type SearchQuery = readonly [match: string, before: string, limit: number];

export function searchQuery(
  namespace: string,
  { terms, owners }: EntrySearch,
  { limit, after = LAST_PLACE }: SearchedPage,
): SearchQuery {
  if (!/^-?\d{1,19}$/.test(after)) throw invalidArgument("page_token belongs to another store");
  return [matchOf(namespace, terms, owners), after, limit];
}

/** The entries of the rows that a query has found. */
export function foundEntries(rows: readonly Row[], limit: number): FoundEntries {
  const entries = rows.map((row) => {
    const [place, log, seq, origin] = row as [string, string, number, string];
    return { place, log: fromColumn(log), seq, originSessionId: fromColumn(origin) };
  });
  return { entries, next: entries.length < limit ? null : (entries.at(-1)?.place ?? null) };
}

/** A query in the language of FTS5, in which every text of a caller is quoted. */
function matchOf(namespace: string, terms: readonly SearchTerm[], owners: readonly string[] | undefined): string {
  const words = terms.map(({ text, isPrefix }) => `"${text.replaceAll('"', " ")}"${isPrefix ? " *" : ""}`);
  const ofOwners = owners === undefined ? "" : `scope : (${owners.map((uid) => `u${hex(uid)}`).join(" OR ")}) AND `;
  return `scope : n${hex(namespace)} AND ${ofOwners}text : (${words.join(" AND ")})`;
}

function hex(text: string): string {
  return Buffer.from(toColumn(text)).toString("hex");
}
