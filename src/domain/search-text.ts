import { type SearchTerm, type Snippet, type TextRange, wordsOf } from "./search.js";

/** Words are marked only within this many code units of a message; anything found further on is shown without marks. */
const MARKED_UNITS = 1024 * 1024;
/** The length of a snippet in code points, and how many of them may come before the first mark. */
const SNIPPET_POINTS = 200;
const LEAD_POINTS = 40;
const ELLIPSIS = "…";
/** How many words are kept besides those that the longest term has. */
const MOST_BEFORE = 1000;

/** Whether a text contains every term. */
export function holdsTerms(text: string, terms: readonly SearchTerm[]): boolean {
  const missing = new Set(terms);
  for (const { term } of matches(text, terms)) {
    missing.delete(term);
    if (missing.size === 0) return true;
  }
  return false;
}

/** Joins the texts of one message, a line each, for `holdsTerms`. A phrase may go on from one to the next. */
export function joinTexts(texts: readonly string[]): string {
  return texts.join("\n");
}

/** Where a message was found: which of its texts, and a piece of that. */
export interface FoundText {
  /** Absent if no term is near the beginning; the piece is then of the first text. */
  readonly index?: number | undefined;
  readonly snippet: Snippet;
}

/**
 * The piece of the texts of a message that contains the first match, with all marks in it. Of several texts it is the
 * first one that has all terms, or, if they are in several, the first one that has any.
 */
export function findIn(texts: readonly string[], terms: readonly SearchTerm[]): FoundText {
  const starts: number[] = [];
  let length = 0;
  for (const text of texts) {
    starts.push(length);
    length += text.length + 1;
  }
  const indexOf = (at: number) => starts.findLastIndex((start) => start <= at);
  let first: TextRange | undefined;
  let firstHere: TextRange | undefined;
  let here = -1;
  const missing = new Set<SearchTerm>();
  for (const match of matches(joinTexts(texts).slice(0, MARKED_UNITS), terms)) {
    first ??= match;
    const index = indexOf(match.start);
    if (index !== here) {
      here = index;
      firstHere = match;
      for (const term of terms) missing.add(term);
    }
    missing.delete(match.term);
    if (missing.size > 0) continue;
    first = firstHere;
    break;
  }
  if (first === undefined) return { snippet: pieceOf(texts[0] ?? "", undefined, terms) };
  const index = indexOf(first.start);
  const start = starts[index] as number;
  const range = { start: first.start - start, end: first.end - start };
  return { index, snippet: pieceOf(texts[index] as string, range, terms) };
}

/** The piece of a text around a match, which may go on after its end. */
function pieceOf(text: string, first: TextRange | undefined, terms: readonly SearchTerm[]): Snippet {
  const start = first === undefined ? 0 : pointsBefore(text, first.start, LEAD_POINTS);
  const end = pointsAfter(text, start, SNIPPET_POINTS);
  const front = start === 0 ? "" : ELLIPSIS;
  const back = end === text.length ? "" : ELLIPSIS;
  const piece = text.slice(start, end);
  const found: TextRange[] = [...matches(piece, terms)];
  if (first !== undefined) found.push({ start: first.start - start, end: Math.min(first.end - start, piece.length) });
  const highlights = joined(found.sort((a, b) => a.start - b.start || b.end - a.end)).map((range) => ({
    start: front.length + countPoints(piece, 0, range.start),
    end: front.length + countPoints(piece, 0, range.end),
  }));
  return { text: `${front}${piece}${back}`, highlights };
}

/** Where terms were found, ordered by their last words, as offsets in code units. */
function* matches(text: string, terms: readonly SearchTerm[]): Generator<TextRange & { readonly term: SearchTerm }> {
  const most = terms.reduce((longest, { words }) => Math.max(longest, words.length), 0);
  let last: { readonly word: string; readonly start: number }[] = [];
  for (const word of wordsOf(text)) {
    if (last.length > most + MOST_BEFORE) last = last.slice(-most);
    last.push(word);
    for (const term of terms) {
      const from = last.length - term.words.length;
      if (from < 0 || !endsHere(last, from, term)) continue;
      // Of a pair that begins with a character, only that one was looked for.
      yield { term, start: last[from]?.start ?? 0, end: term.isPrefix ? (word.firstEnd ?? word.end) : word.end };
    }
  }
}

/** Compares the last words first, because the next call compares most of the others again. */
function endsHere(last: readonly { readonly word: string }[], from: number, { words, isPrefix }: SearchTerm): boolean {
  for (let i = words.length - 1; i >= 0; i--) {
    const word = words[i] as string;
    const found = last[from + i]?.word;
    const isFound = isPrefix && i === words.length - 1 ? found?.startsWith(word) === true : found === word;
    if (!isFound) return false;
  }
  return true;
}

/** Sorts ranges by their starts, and joins those that touch or overlap. */
function joined(ranges: readonly TextRange[]): TextRange[] {
  const apart: TextRange[] = [];
  for (const { start, end } of ranges) {
    const before = apart.at(-1);
    if (before !== undefined && start <= before.end) {
      apart[apart.length - 1] = { start: before.start, end: Math.max(before.end, end) };
    } else {
      apart.push({ start, end });
    }
  }
  return apart;
}

/** The place `count` code points before a place, or the beginning of the first word in the first half of them. */
function pointsBefore(text: string, from: number, count: number): number {
  let at = from;
  for (let left = count; left > 0 && at > 0; left--) at -= isLowSurrogate(text, at - 1) && at > 1 ? 2 : 1;
  if (at === 0) return 0;
  const space = text.slice(at, at + ((from - at) >> 1)).search(/\s/);
  return space < 0 ? at : at + space + 1;
}

/** The place `count` code points after a place. */
function pointsAfter(text: string, from: number, count: number): number {
  let at = from;
  for (let left = count; left > 0 && at < text.length; left--) at += isLowSurrogate(text, at + 1) ? 2 : 1;
  return Math.min(at, text.length);
}

function countPoints(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if (!isLowSurrogate(text, at)) count++;
  return count;
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
