import type { Part } from "../../domain/chat-message.js";
import type { SearchTerm } from "../../domain/search.js";
import { indexedWords, wantedWords } from "../history/indexed-words.js";

/** What a document without words holds. An empty list would look to the index as if the field were missing. */
const NO_WORDS: readonly string[] = [""];
const AFTER_ALL = "\u{10FFFF}";

/** What the field `words` of a document holds. */
export function wordsField(namespace: string, entry: { id: string; parts: readonly Part[] }): readonly string[] {
  const words = indexedWords(namespace, entry);
  return words.length > 0 ? words : NO_WORDS;
}

/** The conditions on `words` that each document with all of the terms meets. */
export function wordConditions(namespace: string, terms: readonly SearchTerm[]): object[] {
  return wantedWords(namespace, terms).map(({ word, isPrefix }) =>
    // Without $elemMatch, one word may meet the lower bound and another one the upper bound.
    isPrefix ? { words: { $elemMatch: { $gte: word, $lt: word + AFTER_ALL } } } : { words: word },
  );
}
