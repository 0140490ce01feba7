declare const isByteString: unique symbol;

/**
 * UTF-8 in a string in which each character stands for one byte (Web IDL calls this a ByteString). It can be cut and
 * joined without copying the pieces and without decoding them.
 */
export type ByteString = string & { readonly [isByteString]: true };

export function toByteString(text: string): ByteString {
  return (isAscii(text) ? text : Buffer.from(text).toString("latin1")) as ByteString;
}

/** Makes a ByteString of UTF-8. */
export function byteStringOf(bytes: Buffer): ByteString {
  return bytes.toString("latin1") as ByteString;
}

/** Decodes the bytes to a text. */
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
