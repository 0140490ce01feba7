/**
 * Words of scripts that are written without spaces: Chinese, Japanese, Thai, Lao, Burmese and Khmer. Where one word
 * ends cannot be told without a dictionary, so the words are pairs of adjacent characters, which overlap, and the last
 * character of a run. A text that holds some characters in a row then holds their pairs in a row.
 */

/** The blocks of these scripts, as a class of regular expressions. They do not depend on a version of Unicode. */
export const SPACELESS_BLOCKS = [
  "\\u0e00-\\u0eff", // Thai, Lao
  "\\u1000-\\u109f\\ua9e0-\\ua9ff\\uaa60-\\uaa7f", // Myanmar
  "\\u1780-\\u17ff", // Khmer
  "\\u2e80-\\u2fdf\\u3005-\\u3007\\u3021-\\u302f\\u3038-\\u303b\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff", // Han
  "\\u3041-\\u30ff\\u31f0-\\u31ff\\uff66-\\uff9f\\u{1aff0}-\\u{1b16f}", // Kana
  "\\u3100-\\u312f\\u31a0-\\u31bf", // Bopomofo
  "\\u{20000}-\\u{3ffff}", // Han
].join("");

const INVISIBLE = "\\u200b-\\u200d\\u2060\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}";

/**
 * What may follow a character without separating it from the next one, besides accents: marks of Kana, joiners, the
 * space without width that shows where a line may be broken, and selectors of variants.
 */
export const SPACELESS_TRAILERS = `\\u3099\\u309a${INVISIBLE}`;

/** A pair of adjacent characters, or the last one of a run. */
export interface Gram {
  readonly word: string;
  /** Offsets in code units. */
  readonly start: number;
  readonly end: number;
  /** Where its first character ends. */
  readonly firstEnd: number;
}

const CHARACTER = new RegExp(`.[\\u0300-\\u036f${SPACELESS_TRAILERS}]*`, "gsv");
const TRAILERS = new RegExp(`[\\u0300-\\u036f${SPACELESS_TRAILERS}]`, "v");
const DROPPED = new RegExp(`[${INVISIBLE}]`, "gv");

/** The words of a run of characters of these scripts, with offsets from `offset` on. */
export function gramsOf(run: string, offset: number, fold: (text: string) => string): Iterable<Gram> {
  return TRAILERS.test(run) || run.normalize() !== run ? foldedGrams(run, offset, fold) : plainGrams(run, offset);
}

/** Of a run whose characters are as they are compared, which nearly all are. */
function* plainGrams(run: string, offset: number): Generator<Gram> {
  let end = lengthAt(run, 0);
  for (let start = 0; start < run.length; ) {
    const nextEnd = end < run.length ? end + lengthAt(run, end) : end;
    yield { word: run.slice(start, nextEnd), start: offset + start, end: offset + nextEnd, firstEnd: offset + end };
    start = end;
    end = nextEnd;
  }
}

function lengthAt(run: string, at: number): number {
  const code = run.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff ? 2 : 1;
}

/** Of a run in which characters have marks after them, or are composed otherwise. */
function* foldedGrams(run: string, offset: number, fold: (text: string) => string): Generator<Gram> {
  let before: { readonly text: string; readonly start: number; readonly end: number } | undefined;
  for (const { 0: found, index } of run.matchAll(CHARACTER)) {
    const text = fold(found.replaceAll(DROPPED, ""));
    const start = offset + index;
    const end = start + found.length;
    if (before) yield { word: before.text + text, start: before.start, end, firstEnd: before.end };
    before = { text, start, end };
  }
  if (before) yield { word: before.text, start: before.start, end: before.end, firstEnd: before.end };
}
