import { ViewedBytes } from "../domain/byte-range.js";

const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for reuse. */
const MOST_KEPT_BYTES = 1024 * 1024;
/** Texts like ids. */
const SHORT_TEXT = 40;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const DIGIT_0 = 0x30;
/** What the byte after a backslash means; 0 where that is not one byte. */
const MEANINGS = new Uint8Array(256);
for (const letter of '"bfnrt') MEANINGS[letter.charCodeAt(0)] = JSON.parse(`"\\${letter}"`).charCodeAt(0);
const FIRST_CHARACTER = 0x20;

/**
 * Writes protobuf from its end to its beginning, so that the length of a message is known when it is written: one pass,
 * one buffer. Fields and items must therefore be written in reverse order. Each use must finish before the next begins.
 */
export class BackwardWriter {
  static #kept = new ViewedBytes(Buffer.allocUnsafeSlow(FIRST_BYTES));

  #viewed = BackwardWriter.#kept;
  #buffer = BackwardWriter.#kept.bytes;
  #start = BackwardWriter.#kept.bytes.length;

  /** The number of bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  finish(): Buffer {
    if (this.#buffer.length <= MOST_KEPT_BYTES) BackwardWriter.#kept = this.#viewed;
    return Buffer.from(this.#buffer.subarray(this.#start));
  }

  /** Puts a tag and a length before what was written since `length` was `from`. */
  prefix(tag: number, from: number): void {
    this.varint(this.length - from);
    this.varint(tag);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[--this.#start] = value;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    this.#buffer.set(value, this.#start);
  }

  /** Writes a whole number; a negative one takes 64 bits, as in int32 and int64. */
  varint(value: number): void {
    if (value >= 0 && value < 128) this.byte(value);
    else if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) this.#groups(value);
    else this.#groups64(BigInt.asUintN(64, BigInt(value)));
  }

  int64(value: bigint): void {
    const number = Number(value);
    if (Number.isSafeInteger(number)) this.varint(number);
    else this.#groups64(BigInt.asUintN(64, value));
  }

  double(value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
  }

  /** Writes a text and, before it, its length. */
  string(value: string): void {
    if (value.length <= SHORT_TEXT && this.#shortAscii(value)) {
      this.byte(value.length);
      return;
    }
    const bytes = Buffer.byteLength(value);
    this.#reserve(bytes);
    this.#start -= bytes;
    this.#buffer.write(value, this.#start, bytes, bytes === value.length ? "latin1" : "utf8");
    this.varint(bytes);
  }

  /**
   * Writes what the JSON string says that ends with the quote at `close`, in one pass and without its length. Returns
   * where the quote is that opens it; -1 when there is none from `first` on, or when it has an escape that
   * JSON.stringify does not write, or that of a lone surrogate.
   */
  jsonString({ bytes: source, view: from }: ViewedBytes, first: number, close: number): number {
    // Up to four bytes too many are written, which are overwritten later.
    this.#reserve(close - first + 4);
    const target = this.#buffer;
    const into = this.#viewed.view;
    const end = this.#start;
    // With `| 0` the compiler knows that these are whole numbers. A constant of this module would be a variable in the
    // bundle. Either makes this loop twice as fast.
    let start = end | 0;
    let at = close | 0;
    const low = (first + 4) | 0;
    for (;;) {
      for (; at >= low; at -= 4, start -= 4) {
        const word = from.getInt32(at - 4, true);
        into.setInt32(start - 4, word, true);
        const marks = marksOf(word);
        if (marks === 0) continue;
        const plain = Math.clz32(marks) >> 3;
        at -= plain;
        start -= plain;
        break;
      }
      if (at <= first) return -1;
      const byte = source[at - 1] as number;
      if (byte === QUOTE && source[at - 2] !== BACKSLASH) break;
      if (byte !== BACKSLASH) {
        target[--start] = byte;
        at -= 1;
        if (byte !== QUOTE) continue;
      }
      let slashes = 0;
      for (; at > first && source[at - 1] === BACKSLASH; at--) slashes++;
      // Each pair is a backslash. Another one escapes what stands after it, which has been copied.
      if ((slashes & 1) === 1) {
        start = resolveEscape(target, start, end);
        if (start < 0) return -1;
      } else if (byte === QUOTE) return -1;
      for (let i = slashes >> 1; i > 0; i--) target[--start] = BACKSLASH;
    }
    this.#start = start;
    return at - 1;
  }

  /** Forgets what was written since `length` was `to`. */
  rewind(to: number): void {
    this.#start = this.#buffer.length - to;
  }

  /** Writes a short text of ASCII without a call into the library; returns false, and writes nothing, for any other. */
  #shortAscii(value: string): boolean {
    this.#reserve(value.length);
    const buffer = this.#buffer;
    let at = this.#start;
    for (let i = value.length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code >= 128) return false;
      buffer[--at] = code;
    }
    this.#start = at;
    return true;
  }

  #groups(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#reserve(size);
    this.#start -= size;
    let rest = value;
    for (let i = 0; i < size - 1; i++, rest = Math.floor(rest / 128))
      this.#buffer[this.#start + i] = (rest % 128) | 128;
    this.#buffer[this.#start + size - 1] = rest;
  }

  #groups64(value: bigint): void {
    const groups: number[] = [];
    for (let rest = value; rest > 0n; rest >>= 7n) groups.push(Number(rest & 127n));
    for (let i = groups.length - 1; i >= 0; i--) this.byte((groups[i] as number) | (i === groups.length - 1 ? 0 : 128));
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#start) return;
    const written = this.length;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, written + bytes));
    this.#buffer.copy(larger, larger.length - written, this.#start);
    this.#viewed = new ViewedBytes(larger);
    this.#buffer = larger;
    this.#start = larger.length - written;
  }
}

/**
 * Replaces an escape without its backslash, which begins at `start`, by what it means. Returns where that begins; -1
 * for an escape that JSON.stringify writes only for a lone surrogate, or not at all.
 */
function resolveEscape(bytes: Buffer, start: number, end: number): number {
  if (start === end) return -1;
  const letter = bytes[start] as number;
  if (MEANINGS[letter] !== 0) {
    bytes[start] = MEANINGS[letter] as number;
    return start;
  }
  const last = start + 4;
  if (letter !== LETTER_U || last >= end || bytes[start + 1] !== DIGIT_0 || bytes[start + 2] !== DIGIT_0) return -1;
  const code = Number(`0x${bytes.toString("latin1", start + 3, last + 1)}`);
  if (!(code < FIRST_CHARACTER)) return -1;
  bytes[last] = code;
  return last;
}

/**
 * Marks the bytes of `word` that are a quote or a backslash by their highest bit: those that are 0 without the bits of
 * such a byte. A byte after one of those may be marked, too.
 */
function marksOf(word: number): number {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  return (((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
}
