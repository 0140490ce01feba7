/** The beginning of a well-formed text that takes at most `maxBytes` of UTF-8, without half a character. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes) return bytes.toString("utf8", 0, bytes.length).replace(/\ufffd$/, "");
  let end = maxBytes;
  // The bytes 10xxxxxx continue a character.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
