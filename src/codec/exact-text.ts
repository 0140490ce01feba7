import { isUtf8 } from "node:buffer";
import { configureTextEncoding } from "@bufbuild/protobuf/wire";

/**
 * Makes protobuf-es read and write text byte for byte, for the whole process. By itself it drops a leading U+FEFF of
 * every string that it decodes.
 */
export function useExactText(): void {
  configureTextEncoding({
    encodeUtf8: (text) => Buffer.from(text) as Uint8Array<ArrayBuffer>,
    decodeUtf8: decodeText,
    checkUtf8: (text) => isUtf8(Buffer.from(text)),
  });
}

/** Throws if `strict` is set and the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array, strict?: boolean): string {
  if (strict && !isUtf8(bytes)) throw new TypeError("invalid UTF-8");
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
