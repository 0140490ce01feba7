import { invalidArgument } from "./errors.js";
import { foldedText, wordsOf } from "./search.js";
import type { Session } from "./session.js";
import { checkBytes, checkText } from "./validate.js";

/** An order of lists of sessions. Sessions that are equal in it are ordered by id, in the same direction. */
export interface SessionOrder {
  readonly by: "update_time" | "create_time" | "title";
  readonly descending: boolean;
}

/** The order of lists that ask for none. */
export const NEWEST_FIRST: SessionOrder = { by: "update_time", descending: true };

/** What sessions are ordered by: microseconds since 1970, or a text of `titleKey`. */
export type OrderKey = number | string;

/** The largest filter by title in bytes. */
export const MOST_TITLE_FILTER_BYTES = 256;
/** Titles that are the same up to here are ordered by id, so that an index can hold what they are ordered by. */
const MOST_TITLE_KEY_BYTES = 256;

/** A longer word is not asked for, even if it got longer by being folded. */
const MOST_WORD_BYTES = 3 * MOST_TITLE_FILTER_BYTES;

const FIELDS: readonly string[] = ["update_time", "create_time", "title"] satisfies SessionOrder["by"][];
// biome-ignore lint/suspicious/noControlCharactersInRegex: not every database orders them by their code points
const CONTROLS = /[\u0000-\u001f]/g;

/** Reads an `order_by` as AIP-132 writes it: a field, and `desc` for the other way. Empty is `update_time desc`. */
export function parseOrder(text: string): SessionOrder {
  checkText("order_by", text);
  checkBytes("order_by", Buffer.byteLength(text), MOST_TITLE_FILTER_BYTES);
  const words = text.split(/[ \t]+/).filter((word) => word !== "");
  if (words.length === 0) return NEWEST_FIRST;
  const [field = "", direction, ...others] = words;
  const refuse = (reason: string) => invalidArgument(`order_by is ${JSON.stringify(text)}; ${reason}`);
  if (text.includes(",")) throw refuse("it must name one field, because ties are always ordered by session id");
  if (!FIELDS.includes(field)) throw refuse(`the fields to order by are ${FIELDS.join(", ")}`);
  if (direction === "asc") throw refuse(`ascending is written without a direction: ${JSON.stringify(field)}`);
  if ((direction !== undefined && direction !== "desc") || others.length > 0) {
    throw refuse('after the field, only "desc" may follow');
  }
  return { by: field as SessionOrder["by"], descending: direction === "desc" };
}

export function orderText({ by, descending }: SessionOrder): string {
  return descending ? `${by} desc` : by;
}

export function orderKey(
  session: Pick<Session, "updateTimeMicros" | "createTimeMicros" | "title">,
  { by }: SessionOrder,
): OrderKey {
  if (by === "title") return titleKey(session.title);
  return by === "update_time" ? session.updateTimeMicros : session.createTimeMicros;
}

/**
 * What a title is ordered by, code point by code point: the title without case and accents, cut at 256 bytes. Control
 * characters count as spaces.
 */
export function titleKey(title: string): string {
  const folded = foldedText(title).replaceAll(CONTROLS, " ");
  // A code point has at most two code units, and a code unit takes at least a byte.
  const bytes = Buffer.from(folded.slice(0, MOST_TITLE_KEY_BYTES + 1));
  if (bytes.length <= MOST_TITLE_KEY_BYTES) return folded;
  let end = MOST_TITLE_KEY_BYTES;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/** Compares texts by their code points, which is also the order of their bytes in UTF-8. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Compares the places of two sessions in an order. */
export function compareOrderKeys(a: OrderKey, b: OrderKey): number {
  return typeof a === "string" ? compareCodePoints(a, b as string) : a - (b as number);
}

/**
 * The different words of a title, by which lists are filtered. Of a script that is written without spaces, these are
 * all characters and all pairs of adjacent ones, so that a title with a text has all words of the text.
 */
export function titleWords(title: string): readonly string[] {
  const words = new Set<string>();
  for (const { word, start, firstEnd } of wordsOf(title)) {
    if (Buffer.byteLength(word) <= MOST_WORD_BYTES) words.add(word);
    if (firstEnd !== undefined) words.add(foldedText(title.slice(start, firstEnd)));
  }
  return [...words];
}

/** The words that titles must have, all of them; undefined for an empty filter. */
export function parseTitleFilter(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text === "") return undefined;
  checkText("title", text);
  checkBytes("title", Buffer.byteLength(text), MOST_TITLE_FILTER_BYTES);
  const words = titleWords(text);
  if (words.length === 0) throw invalidArgument("title holds no letter or digit to look for");
  return words;
}
