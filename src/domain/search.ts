import { invalidArgument } from "./errors.js";
import type { Session } from "./session.js";
import { checkBytes, checkText } from "./validate.js";

/** Most bytes of a query. */
export const MOST_QUERY_BYTES = 256;
/**
 * A shorter prefix would be that of a large part of all words. Three letters of Latin script, or one character of most
 * scripts that are written without spaces.
 */
const LEAST_PREFIX_BYTES = 3;

/** What a message must hold: words one right after the other. */
export interface SearchTerm {
  /** As it was written, without quotation marks. */
  readonly text: string;
  /** The same as `wordsOf` reads it: one word at least. */
  readonly words: readonly string[];
  /** Whether the last word may go on. */
  readonly isPrefix: boolean;
}

/** A place that a message has in the order of a search. Opaque above the store. */
export interface SearchCursor {
  readonly place: string;
}

export interface SearchHit {
  readonly sessionId: string;
  readonly sessionTitle: Session["title"];
  readonly messageId: string;
  readonly role: string;
  readonly timestampMicros: number;
  readonly position: number;
  readonly snippet: Snippet;
}

/** A piece of a message's text around the first words that were found. */
export interface Snippet {
  /** Plain text. An ellipsis stands where something was left out. */
  readonly text: string;
  /** What was found in it, as offsets in code points, from `start` to before `end`, in order and apart. */
  readonly highlights: readonly TextRange[];
}

export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface SearchPage {
  readonly hits: readonly SearchHit[];
  /** Absent when nothing follows. A page may hold fewer hits than asked for, and even none, and go on. */
  readonly next?: SearchCursor | undefined;
}

interface Word {
  /** Without case and diacritics. */
  readonly word: string;
  /** Offsets in code units. */
  readonly start: number;
  readonly end: number;
}

/**
 * A word is a run of letters and digits with the marks on them: what SQLite's tokenizer `unicode61` takes for one. Whole
 * runs of scripts that are written without spaces are one word, too.
 */
const WORD = /[\p{L}\p{N}\p{Co}](?:[\p{L}\p{N}\p{Co}]|[\u0300-\u0331])*/gu;
const MARKS = /[\u0300-\u0331]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything in ASCII is looked for
const ASCII = /^[\u0000-\u007f]*$/;

/**
 * The terms of a query: words, of which each must be found; `"a phrase"`, whose words must follow each other; either of
 * them with a `*` right after it, whose last word may go on. Everything else is text, and what is neither a letter nor
 * a digit stands between words. `invalid_argument`: there is no word, or it is too long.
 */
export function parseSearch(q: string): readonly SearchTerm[] {
  checkText("q", q);
  if (q === "") throw invalidArgument("q is required");
  checkBytes("q", Buffer.byteLength(q), MOST_QUERY_BYTES);
  const terms: SearchTerm[] = [];
  for (const [, phrase, phraseStar, plain] of q.matchAll(/"([^"]*)(?:"(\*?)|$)|([^\s"]+)/g)) {
    const text = (phrase ?? plain ?? "").replaceAll("\u0000", " ");
    const words = [...wordsOf(text)].map(({ word }) => word);
    const isPrefix = phrase === undefined ? text.endsWith("*") : phraseStar === "*";
    if (words.length === 0) continue;
    if (isPrefix) checkPrefix(words.at(-1) as string);
    terms.push({ text, words, isPrefix });
  }
  if (terms.length === 0) throw invalidArgument("q holds no letter or digit to look for");
  return terms;
}

function checkPrefix(word: string): void {
  const bytes = Buffer.byteLength(word);
  if (bytes >= LEAST_PREFIX_BYTES) return;
  throw invalidArgument(`The prefix ${word}* in q is ${bytes} bytes; at least ${LEAST_PREFIX_BYTES} are required`);
}

/** The words of a text, in order. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: found, index } of text.matchAll(WORD)) {
    yield { word: folded(found), start: index, end: index + found.length };
  }
}

function folded(word: string): string {
  if (ASCII.test(word)) return word.toLowerCase();
  return word.normalize("NFD").replaceAll(MARKS, "").normalize("NFC").toLowerCase();
}
