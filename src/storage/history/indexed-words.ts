import { type SearchScope, type SearchTerm, wordsOf } from "../../domain/search.js";
import { type SearchedContent, searchedText } from "./searched-text.js";

/** Of a longer word only its beginning is in the index, in code units: a run of base64 would be one huge word. */
const MOST_WORD_UNITS = 64;
/** The most different words of one message that are in the index, which bounds what a message adds to it. */
export const MOST_WORDS = 5000;
/** Ids of seals and of the steps of drafts begin with this; those of messages never do. */
const INTERNAL = "\u0000";

/** A word that each entry with all of the terms has in the index, or the beginning of such a word. */
export interface WantedWord {
  readonly word: string;
  readonly isPrefix: boolean;
}

/**
 * What a store keeps of an entry in an index of words: each word of the message once, preceded by the namespace, so
 * that a search in one namespace does not read the messages of the others.
 */
export function indexedWords(
  namespace: string,
  { id, body }: { readonly id: string; readonly body: SearchedContent },
  scope: SearchScope,
): string[] {
  const words = new Set<string>();
  if (!id.startsWith(INTERNAL)) {
    for (const { word } of wordsOf(searchedText(body, scope))) {
      words.add(indexedWord(namespace, word));
      if (words.size === MOST_WORDS) break;
    }
  }
  return [...words];
}

/** The words by which such an index finds the entries with all of the terms. */
export function wantedWords(namespace: string, terms: readonly SearchTerm[]): readonly WantedWord[] {
  return terms.flatMap(({ words, isPrefix }) =>
    words.map((word, i) => ({
      word: indexedWord(namespace, word),
      isPrefix: isPrefix && i === words.length - 1 && word.length < MOST_WORD_UNITS,
    })),
  );
}

/** Whether an entry with all wanted words may still lack a term. The index knows no order, and cuts long words. */
export function mayLackTerms(terms: readonly SearchTerm[]): boolean {
  return terms.some(({ words }) => words.length > 1 || words.some(({ length }) => length > MOST_WORD_UNITS));
}

function indexedWord(namespace: string, word: string): string {
  return `${namespace} ${word.slice(0, MOST_WORD_UNITS)}`;
}
