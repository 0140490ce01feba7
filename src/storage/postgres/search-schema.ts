import type { SearchScope } from "../../domain/search.js";
import { quoted } from "./postgres-url.js";
import { MARKS } from "./words-column.js";

/**
 * The condition for messages that lack words of the present rule (`MARKS`). An index has it, and a query that repeats
 * it reads that index.
 */
export function lacksWords(scope: SearchScope, prefix = ""): string {
  return `${prefix}id IS NOT NULL AND (${prefix}words @@ '${MARKS[scope]}'::tsquery) IS NOT TRUE`;
}

/**
 * What searching needs besides: the words, their order, and which messages lack the words of texts, or, for
 * `--search=all`, of all that is searched. The latter two have another order than the key of the table, so that no plan
 * looks for such messages by that key.
 */
export const SEARCH_INDEXES = {
  messages_by_words: "USING gin (words) WHERE words IS NOT NULL",
  messages_by_time: "(timestamp, uid, log, seq) WHERE words IS NOT NULL",
  messages_lacking_text: `(seq, uid, log) WHERE ${lacksWords("text")}`,
  messages_lacking_all: `(seq, uid, log) WHERE ${lacksWords("all")}`,
} as const;

export function searchIndexSql(schema: string, name: keyof typeof SEARCH_INDEXES, concurrently: boolean): string {
  return `CREATE INDEX ${concurrently ? "CONCURRENTLY " : ""}${name} ON ${quoted(schema)}.messages ${SEARCH_INDEXES[name]}`;
}
