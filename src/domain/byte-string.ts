declare const isByteString: unique symbol;

/**
 * UTF-8 in a string in which each character stands for one byte (Web IDL calls this a ByteString). It can be cut and
 * joined without copying the pieces and without decoding them.
 */
export type ByteString = string & { readonly [isByteString]: true };

/** UTF-8 as a string, which is cheap to build, or as a Buffer, which is cheap to fill with what is long. */
export type Utf8 = ByteString | Buffer;

export function toByteString(text: string): ByteString {
  return (isAscii(text) ? text : Buffer.from(text).toString("latin1")) as ByteString;
}

/** Makes a ByteString of UTF-8. */
export function byteStringOf(bytes: Buffer): ByteString {
  return bytes.toString("latin1") as ByteString;
}

/** Decodes the bytes to a text. */
export function textOf(bytes: Utf8): string {
  return typeof bytes === "string" && isAscii(bytes) ? bytes : toBytes(bytes).toString();
}

export function toBytes(bytes: Utf8): Buffer {
  return typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
