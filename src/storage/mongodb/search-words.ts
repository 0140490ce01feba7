import type { Part } from "../../domain/chat-message.js";
import { type SearchTerm, wordsOf } from "../../domain/search.js";
import { searchedText } from "../../domain/search-text.js";

/** Of a longer word only its beginning is in the index, in code units: a run of base64 would be one huge word. */
const MOST_WORD_UNITS = 64;
/** The most different words of one message that are in the index, so that its document stays below MongoDB's 16 MB. */
export const MOST_WORDS = 5000;
/** What a document without words holds. An empty list would look to the index as if the field were missing. */
const NO_WORDS: readonly string[] = [""];
/** Ids of seals and of the steps of drafts begin with this; those of messages never do. */
const INTERNAL = "\u0000";
const AFTER_ALL = "\u{10FFFF}";

/**
 * What the field `words` of a document holds: each word of the message once, preceded by the namespace, so that a
 * search in one namespace does not read the messages of the others.
 */
export function indexedWords(namespace: string, { id, parts }: { id: string; parts: readonly Part[] }): string[] {
  const words = new Set<string>();
  if (!id.startsWith(INTERNAL)) {
    for (const { word } of wordsOf(searchedText(parts))) {
      words.add(indexedWord(namespace, word));
      if (words.size === MOST_WORDS) break;
    }
  }
  return words.size > 0 ? [...words] : [...NO_WORDS];
}

/** The conditions on `words` that each document with all of the terms meets. */
export function wordConditions(namespace: string, terms: readonly SearchTerm[]): object[] {
  return terms.flatMap(({ words, isPrefix }) =>
    words.map((word, i) => {
      const indexed = indexedWord(namespace, word);
      const mayGoOn = isPrefix && i === words.length - 1 && word.length < MOST_WORD_UNITS;
      // Without $elemMatch, one word may meet the lower bound and another one the upper bound.
      return mayGoOn ? { words: { $elemMatch: { $gte: indexed, $lt: indexed + AFTER_ALL } } } : { words: indexed };
    }),
  );
}

/** Whether a document that meets the conditions may still lack a term. `words` has no order, and cuts long words. */
export function mayLackTerms(terms: readonly SearchTerm[]): boolean {
  return terms.some(({ words }) => words.length > 1 || words.some(({ length }) => length > MOST_WORD_UNITS));
}

function indexedWord(namespace: string, word: string): string {
  return `${namespace} ${word.slice(0, MOST_WORD_UNITS)}`;
}
