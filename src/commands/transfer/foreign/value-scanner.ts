const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/**
 * Finds the ends of values in JSON without parsing it: of the items of a list and of lists of objects that follow it,
 * or of objects and lists that stand one after another. It counts brackets outside of texts, so a value that is invalid
 * within does not cost the next one.
 */
export class ValueScanner {
  readonly #maxBytes: number;
  /** How many brackets are open around an item. */
  readonly #base: 0 | 1;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isClosed = false;
  /** Whether a bracket stands after the list, which begins another list if an object follows. */
  #isOpening = false;
  #value: Uint8Array[] = [];
  #bytes = 0;
  #outside = 0;

  constructor(isList: boolean, maxBytes: number) {
    this.#base = isList ? 1 : 0;
    this.#maxBytes = maxBytes;
  }

  /** The values that end in this chunk; null for one that was too long. */
  *add(chunk: Uint8Array): Generator<Buffer | null> {
    let start = this.#bytes > 0 ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (this.#inText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inText = false;
        continue;
      }
      if (byte <= SPACE) continue;
      if (this.#isClosed) {
        this.#outside += 1;
        if (!this.#isOpening || byte !== OPEN_OBJECT) {
          this.#isOpening = byte === OPEN_LIST;
          continue;
        }
        this.#outside -= 2;
        this.#isOpening = false;
        this.#isClosed = false;
      }
      const isBetween = this.#depth === this.#base;
      if (isBetween && (byte === COMMA || (this.#base === 1 && byte === CLOSE_LIST))) {
        if (start >= 0) yield this.#take(chunk.subarray(start, i));
        start = -1;
        if (byte === CLOSE_LIST) this.#isClosed = true;
        continue;
      }
      if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.#depth += 1;
        // The bracket of the list itself.
        if (this.#depth === 1 && this.#base === 1) continue;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#depth = Math.max(this.#depth - 1, this.#base);
        if (this.#depth === 0 && start >= 0) {
          yield this.#take(chunk.subarray(start, i + 1));
          start = -1;
          continue;
        }
      } else if (byte === QUOTE && this.#depth >= 1) this.#inText = true;
      if (isBetween && this.#base === 0 && this.#depth === 0) this.#outside += 1;
      else if (start < 0) start = i;
    }
    if (start >= 0) this.#keep(chunk.subarray(start));
  }

  /** Whether a value or the list has not ended, and how many bytes stand after the list or between the values. */
  end(): { readonly unfinished: boolean; readonly outside: number } {
    return { unfinished: this.#bytes > 0 || (this.#base === 1 && !this.#isClosed), outside: this.#outside };
  }

  #take(last: Uint8Array): Buffer | null {
    this.#keep(last);
    const value = this.#bytes > this.#maxBytes ? null : Buffer.concat(this.#value);
    this.#value = [];
    this.#bytes = 0;
    return value;
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#maxBytes) this.#value.push(bytes);
    else this.#value = [];
  }
}
