import { type ByteString, byteStringOf } from "./byte-string.js";

/** Bytes with a view that reads and writes several of them as one number. */
export class ViewedBytes {
  readonly bytes: Buffer;
  #view: DataView | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get view(): DataView {
    this.#view ??= new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
    return this.#view;
  }
}

/** Some of the bytes that were read together. To cut a Buffer takes longer than most uses of it. */
export class ByteRange {
  readonly source: ViewedBytes;
  readonly start: number;
  /** Where the bytes after the range begin. */
  readonly end: number;

  constructor(source: ViewedBytes, start: number, end: number) {
    this.source = source;
    this.start = start;
    this.end = end;
  }

  static of(bytes: Buffer): ByteRange {
    return new ByteRange(new ViewedBytes(bytes), 0, bytes.length);
  }

  get length(): number {
    return this.end - this.start;
  }

  toBuffer(): Buffer {
    return this.source.bytes.subarray(this.start, this.end);
  }

  toByteString(): ByteString {
    return byteStringOf(this.toBuffer());
  }

  /** Decodes UTF-8. */
  toString(): string {
    return this.source.bytes.toString("utf8", this.start, this.end);
  }
}
