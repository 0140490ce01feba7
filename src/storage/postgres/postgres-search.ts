import type { Call } from "../../domain/call.js";
import { MessageBody } from "../../domain/message-body.js";
import type { SearchScope, SearchTerm } from "../../domain/search.js";
import { holdsTerms } from "../../domain/search-text.js";
import { mayLackTerms } from "../history/indexed-words.js";
import type { EntrySearch, FoundEntries, SearchedPage } from "../history/log-store.js";
import { readSearchPlace, writeSearchPlace } from "../history/search-place.js";
import { searchedText } from "../history/searched-text.js";
import { fromColumn, toColumn } from "../text-column.js";
import { splitLog } from "./rows.js";
import type { PostgresShared } from "./shared.js";
import type { Row, Value } from "./values.js";
import { wordsQuery } from "./words-column.js";

/** Finds the messages of one namespace by the words that their rows hold. */
export class PostgresSearch {
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
  }

  async find(search: EntrySearch, { limit, after }: SearchedPage, call?: Call): Promise<FoundEntries> {
    const { terms, scope, owners, sinceMicros = Number.MIN_SAFE_INTEGER, untilMicros } = search;
    const { pool, sql } = this.#shared;
    const places = placeValues(after, untilMicros);
    const values: Value[] = [wordsQuery(this.#namespace, terms), ...places, limit, sinceMicros];
    const mustRead = mayLackTerms(terms);
    if (owners !== undefined) values.push(owners.map(toColumn));
    // How many messages have a word decides which index is the better one, so each search is planned for its words.
    const rows = await pool.read(findStatement(sql, mustRead, owners !== undefined), values, call, false);
    const found = rows.map(toFound);
    return {
      entries: found
        .filter(({ body }) => !mustRead || holds(body, terms, scope))
        .map(({ body: _body, ...entry }) => entry),
      next: found.length < limit ? null : (found.at(-1)?.place ?? null),
    };
  }
}

type FoundRow = readonly [string, string, number, number, string, string, string | null];

function findStatement(sql: PostgresShared["sql"], mustRead: boolean, hasOwners: boolean): string {
  if (hasOwners) return mustRead ? sql.findReadOwned : sql.findWordsOwned;
  return mustRead ? sql.findRead : sql.findWords;
}

/** The place before which all found are: the given one, or the first of those that are too late. */
function placeValues(after: string | undefined, untilMicros = Number.MAX_SAFE_INTEGER): Value[] {
  if (after === undefined) return [untilMicros, "", "", 0];
  const { timestampMicros, log, seq } = readSearchPlace(after);
  return [timestampMicros, ...splitLog(log), seq];
}

function toFound(row: Row) {
  const [uid, rest, seq, timestampMicros, origin, role, body] = row as FoundRow;
  const log = fromColumn(uid) + fromColumn(rest);
  const place = writeSearchPlace({ timestampMicros, log, seq });
  return { log, seq, originSessionId: fromColumn(origin), role: fromColumn(role), place, body };
}

function holds(body: string | null, terms: readonly SearchTerm[], scope: SearchScope): boolean {
  return body !== null && holdsTerms(searchedText(MessageBody.stored(body), scope), terms);
}
