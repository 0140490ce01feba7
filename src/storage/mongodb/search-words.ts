import type { SearchScope, SearchTerm } from "../../domain/search.js";
import { indexedWords, wantedWords } from "../history/indexed-words.js";
import type { SearchedContent } from "../history/searched-text.js";

/**
 * What a document has among its words, to show of what they are. It has no space and so is no word of a namespace.
 * Earlier versions kept words of an earlier rule in the field `words`.
 */
export const MARKS = { text: "text", all: "all" } as const;
const AFTER_ALL = "\u{10FFFF}";

/** What the field `terms` of a document holds. */
export function termsField(
  namespace: string,
  entry: { readonly id: string; readonly body: SearchedContent },
  scope: SearchScope,
): readonly string[] {
  return [MARKS[scope], ...indexedWords(namespace, entry, scope)];
}

/** The conditions on `terms` that each document with all of the terms meets. */
export function termConditions(namespace: string, terms: readonly SearchTerm[]): object[] {
  return wantedWords(namespace, terms).map(({ word, isPrefix }) =>
    // Without $elemMatch, one word may meet the lower bound and another one the upper bound.
    isPrefix ? { terms: { $elemMatch: { $gte: word, $lt: word + AFTER_ALL } } } : { terms: word },
  );
}
