/** What JSON-RPC puts around an answer takes at most. */
export const ENVELOPE_BYTES = 256;

/** The bytes of a text as it is sent: an answer is JSON within a text of JSON-RPC, so quotes are escaped again. */
export function sentBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** What each character of ASCII takes as a part of a text of the answer. */
const ASCII_BYTES = Array.from({ length: 128 }, (_, code) =>
  sentBytes(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
);
/** `\\ud83d`, half of a character. */
const HALF_BYTES = 7;

/** How far a text of the answer may go from a place on, so that it takes at most this many bytes; whole characters. */
export function endWithin(text: string, from: number, bytes: number): number {
  let left = bytes;
  for (let at = from; at < text.length; ) {
    const code = text.codePointAt(at) as number;
    left -= ASCII_BYTES[code] ?? utf8Bytes(code);
    if (left < 0) return at;
    at += code > 0xffff ? 2 : 1;
  }
  return text.length;
}

function utf8Bytes(code: number): number {
  if (code < 0x800) return 2;
  if (code >= 0xd800 && code <= 0xdfff) return HALF_BYTES;
  return code > 0xffff ? 4 : 3;
}
