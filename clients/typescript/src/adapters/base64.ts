const CHUNK = 0x8000;
/** Padded, and with zeros in the bits that the last character has too many. */
const CANONICAL = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/;

/** How many bytes a text is the base64 of; undefined if `base64Of` would write them in another way. */
export function base64Length(text: string): number | undefined {
  if (text.length % 4 !== 0 || !CANONICAL.test(text)) return undefined;
  return (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
}

/** Throws if the text is not base64. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK)
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + CHUNK) as never);
  return btoa(binary);
}
