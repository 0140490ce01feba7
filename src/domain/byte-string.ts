declare const isByteString: unique symbol;

/**
 * UTF-8 in a string, each of whose characters stands for one byte (Web IDL calls that a ByteString). Pieces are cut from it, and put together,
 * without a copy of each and without decoding.
 */
export type ByteString = string & { readonly [isByteString]: true };

export function toByteString(text: string): ByteString {
  return (isAscii(text) ? text : Buffer.from(text).toString("latin1")) as ByteString;
}

/** Of UTF-8. */
export function byteStringOf(bytes: Buffer): ByteString {
  return bytes.toString("latin1") as ByteString;
}

/** The text that these are the bytes of. */
export function textOf(bytes: ByteString): string {
  return isAscii(bytes) ? bytes : toBytes(bytes).toString();
}

export function toBytes(bytes: ByteString): Buffer {
  return Buffer.from(bytes, "latin1");
}

export function sliceBytes(bytes: ByteString, start: number, end?: number): ByteString {
  return bytes.slice(start, end) as ByteString;
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
