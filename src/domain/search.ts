import { invalidArgument } from "./errors.js";
import type { Session } from "./session.js";
import { gramsOf, SPACELESS_BLOCKS, SPACELESS_TRAILERS } from "./spaceless.js";
import { checkBytes, checkText } from "./validate.js";

/** The largest query in bytes. */
export const MOST_QUERY_BYTES = 256;
/**
 * A shorter prefix would match a large part of all words. This is three letters of Latin script, or one character of
 * most scripts that are written without spaces.
 */
const LEAST_PREFIX_BYTES = 3;
/** A store has to gather all words that begin with a prefix, wherever they stand, so each prefix is expensive. */
const MOST_PREFIXES = 4;

/** What a search looks at: the texts of messages, or also titles, and what tools were given and answered. */
export type SearchScope = "text" | "all";

/**
 * Whether a store can be searched, and for what: `true` is `text`. `existing` is for programs that use an index if
 * there is one, for all that it has, and make none.
 */
export type SearchOption = boolean | SearchScope | "existing";

/** What of a message, or of its session, a hit is from. */
export type SearchedField = "text" | "tool_name" | "tool_input" | "tool_output" | "title";

/** Words that a message must contain, one right after another. */
export interface SearchTerm {
  /** The text as it was written, without quotation marks. */
  readonly text: string;
  /** The words of the text, as `wordsOf` makes them; at least one. */
  readonly words: readonly string[];
  /** Whether the last word is a prefix. */
  readonly isPrefix: boolean;
}

/** The place of a message in the order of a search. Opaque above the store. */
export interface SearchCursor {
  /** Empty before the first message. */
  readonly place: string;
  /** The same in the order of titles, where they are searched; absent before the first one. */
  readonly titles?: string | undefined;
}

export interface SearchHit {
  readonly sessionId: string;
  readonly sessionTitle: Session["title"];
  /** Empty if the title of the session was found. */
  readonly messageId: string;
  /** Empty if the title was found. */
  readonly role: string;
  /** When the session was created, if its title was found. */
  readonly timestampMicros: number;
  /** 0 if the title was found. */
  readonly position: number;
  readonly snippet: Snippet;
  /** What the snippet is from; absent if the words are so far inside the message that it shows the beginning. */
  readonly field?: SearchedField | undefined;
  /** The number of parts before the one that the snippet is from, and its type; absent if it is from no part. */
  readonly part?: { readonly index: number; readonly type: string } | undefined;
}

/** A piece of a message's text around the first words found. */
export interface Snippet {
  /** Plain text with an ellipsis where something was left out. */
  readonly text: string;
  /**
   * The matches in it, as offsets in code points from `start` up to but not including `end`, sorted and without
   * overlaps.
   */
  readonly highlights: readonly TextRange[];
}

export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface SearchPage {
  readonly hits: readonly SearchHit[];
  /** Absent when nothing follows. A page may hold fewer hits than asked for, or even none, although more follow. */
  readonly next?: SearchCursor | undefined;
}

interface Word {
  /** The word without case and accents. */
  readonly word: string;
  /** Offsets in code units. */
  readonly start: number;
  readonly end: number;
  /** Where its first character ends, of a word of a script that is written without spaces; otherwise absent. */
  readonly firstEnd?: number;
}

/** The words of a text that a search looks for, which follow each other where it is found. */
export interface SoughtWords {
  readonly words: readonly string[];
  /** Whether the last word is the beginning of a word. */
  readonly isPrefix: boolean;
}

/** Characters of scripts that are written without spaces, with their vowels and marks, and those of all others. */
const SPACELESS = `[[\\p{L}\\p{N}\\p{M}]&&[${SPACELESS_BLOCKS}]]`;
const SPACED = `[[\\p{L}\\p{N}\\p{Co}]--[${SPACELESS_BLOCKS}]]`;
/** A run of either, with accents; of the first ones as a group. */
const RUN = new RegExp(
  `(${SPACELESS}[${SPACELESS}\\u0300-\\u036f${SPACELESS_TRAILERS}]*)|${SPACED}[${SPACED}\\u0300-\\u036f]*`,
  "gv",
);
/** The Unicode block of accents. Marks of other scripts, such as the vowels of Devanagari, are no accents. */
const ACCENTS = /[\u0300-\u036f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything in ASCII is looked for
const ASCII = /^[\u0000-\u007f]*$/;

/**
 * The terms of a query, all of which must be found: words, and phrases in quotation marks whose words must follow each
 * other. A `*` right after either makes its last word a prefix. Every other character that is neither a letter nor a
 * digit separates words. `invalid_argument`: there is no word, the query is too long, a prefix is too short, or there
 * are too many.
 */
export function parseSearch(q: string): readonly SearchTerm[] {
  checkText("q", q);
  if (q === "") throw invalidArgument("q is required");
  checkBytes("q", Buffer.byteLength(q), MOST_QUERY_BYTES);
  const terms = new Map<string, SearchTerm>();
  for (const [, phrase, phraseStar, plain] of q.matchAll(/"([^"]*)(?:"(\*?)|$)|([^\s"]+)/g)) {
    const text = (phrase ?? plain ?? "").replaceAll("\u0000", " ");
    const { words, isPrefix } = soughtWords(text, phrase === undefined ? text.endsWith("*") : phraseStar === "*");
    if (words.length === 0) continue;
    if (isPrefix) checkPrefix(words.at(-1) as string);
    // A term that is written twice is looked for once.
    terms.set(`${words.join(" ")}${isPrefix ? "*" : ""}`, { text, words, isPrefix });
  }
  if (terms.size === 0) throw invalidArgument("q holds no letter or digit to look for");
  checkPrefixes([...terms.values()]);
  return [...terms.values()];
}

function checkPrefixes(terms: readonly SearchTerm[]): void {
  const prefixes = terms.filter(({ isPrefix }) => isPrefix).length;
  if (prefixes <= MOST_PREFIXES) return;
  const hasCharacters = terms.some(({ text, isPrefix }) => isPrefix && !text.endsWith("*"));
  const which = hasCharacters ? ", as which single characters of scripts without spaces count" : "";
  throw invalidArgument(`q holds ${prefixes} different prefixes${which}; at most ${MOST_PREFIXES} are allowed`);
}

function checkPrefix(word: string): void {
  const bytes = Buffer.byteLength(word);
  if (bytes >= LEAST_PREFIX_BYTES) return;
  throw invalidArgument(`The prefix ${word}* in q is ${bytes} bytes; at least ${LEAST_PREFIX_BYTES} are required`);
}

/**
 * What a search for a text looks for. The last character of a run without spaces is a word of its own only where the
 * run ends, so it is left out, or, if the run is a single character, found as the beginning of a pair.
 */
export function soughtWords(text: string, hasStar = false): SoughtWords {
  const found = [...wordsOf(text)];
  const last = found.at(-1);
  if (last?.firstEnd === undefined) return { words: found.map(({ word }) => word), isPrefix: hasStar };
  const isPaired = found.at(-2)?.end === last.end;
  if (isPaired) found.pop();
  return { words: found.map(({ word }) => word), isPrefix: !isPaired };
}

/**
 * The words of a text, in order. Of a script that is written without spaces, these are all pairs of adjacent characters
 * and the last one of each run.
 */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: found, 1: run, index } of text.matchAll(RUN)) {
    if (run !== undefined) yield* gramsOf(run, index, foldedText);
    else yield { word: foldedText(found), start: index, end: index + found.length };
  }
}

/** A text without case and accents. Every store compares words in this form, and those with an index keep it. */
export function foldedText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize("NFD").replaceAll(ACCENTS, "").normalize("NFC");
  return bare.toLowerCase().replaceAll(/\p{Changes_When_Casefolded}/gu, ofCapital);
}

/** Forms of one small letter have the same capital: `ς` becomes `σ`. A capital of several letters is ignored. */
function ofCapital(letter: string): string {
  const other = letter.toUpperCase().toLowerCase();
  return other.length === letter.length ? other : letter;
}
