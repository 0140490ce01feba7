const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for reuse. */
const MOST_KEPT_BYTES = 1024 * 1024;
const SHORT_TEXT = 24;

/**
 * Writes protobuf from its end to its beginning, so that the length of a message is known when it is written: one pass,
 * one buffer. Fields and items must therefore be written in reverse order. Each use must finish before the next begins.
 */
export class BackwardWriter {
  static #kept = Buffer.allocUnsafeSlow(FIRST_BYTES);

  #buffer = BackwardWriter.#kept;
  #start = BackwardWriter.#kept.length;
  #areBytes = false;

  /** The number of bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  finish(): Buffer {
    if (this.#buffer.length <= MOST_KEPT_BYTES) BackwardWriter.#kept = this.#buffer;
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

  /** Runs `write`. Until it returns, each character of a text that is written stands for one byte of UTF-8. */
  withTextsOfBytes(write: () => void): void {
    this.#areBytes = true;
    write();
    this.#areBytes = false;
  }

  /** Writes a text and, before it, its length. */
  string(value: string): void {
    const bytes = this.#areBytes ? value.length : Buffer.byteLength(value);
    this.#text(value, bytes);
    this.varint(bytes);
  }

  #text(value: string, bytes: number): void {
    this.#reserve(bytes);
    this.#start -= bytes;
    if (bytes !== value.length) this.#buffer.write(value, this.#start, bytes, "utf8");
    else if (bytes > SHORT_TEXT) this.#buffer.write(value, this.#start, bytes, "latin1");
    else for (let i = 0; i < bytes; i++) this.#buffer[this.#start + i] = value.charCodeAt(i);
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
    this.#buffer = larger;
    this.#start = larger.length - written;
  }
}
