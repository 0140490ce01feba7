import type { SearchScope, SearchTerm } from "../../domain/search.js";
import { indexedWords, wantedWords } from "../history/indexed-words.js";
import type { Entry } from "../history/log-store.js";

/**
 * What a row has among its words, to show by which rule they were made, and of what. They have no space and so are no
 * words of a namespace. Their numbers are to be raised when `wordsOf` or `searchedText` change.
 */
export const MARKS = { text: "text2", all: "all2" } as const;

/** A tsvector holds less than 1 MB. This much of it is words, and the rest is what it keeps beside each. */
const MOST_BYTES = 800_000;

/**
 * The text of the tsvector of an entry, whose lexemes are the words that `indexedWords` gives. The words are ours, and
 * not those of a text search configuration, because all stores fold them in the same way. The namespace is as a column
 * holds it.
 */
export function wordsColumn(namespace: string, { id, body }: Pick<Entry, "id" | "body">, scope: SearchScope): string {
  const lexemes = [lexeme(MARKS.text)];
  if (scope === "all") lexemes.push(lexeme(MARKS.all));
  let bytes = 0;
  for (const word of indexedWords(namespace, { id, body }, scope)) {
    bytes += Buffer.byteLength(word);
    if (bytes > MOST_BYTES) break;
    lexemes.push(lexeme(word));
  }
  return lexemes.join(" ");
}

/** The text of a tsquery that matches what may have all of the terms. */
export function wordsQuery(namespace: string, terms: readonly SearchTerm[]): string {
  return wantedWords(namespace, terms)
    .map(({ word, isPrefix }) => lexeme(word) + (isPrefix ? ":*" : ""))
    .join(" & ");
}

/** Words have no control characters, and the namespace is as a column holds it. */
function lexeme(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
