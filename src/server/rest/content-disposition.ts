/**
 * Types that a browser may show in place, because it runs nothing that is in them. SVG is not among them: opened by
 * itself, it is a document with scripts.
 */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  "image/avif",
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
  "audio/aac",
  "audio/flac",
  "audio/mp4",
  "audio/mpeg",
  "audio/ogg",
  "audio/wav",
  "audio/wave",
  "audio/webm",
  "audio/x-wav",
  "video/mp4",
  "video/ogg",
  "video/webm",
  "text/plain",
]);

/** Path separators, quotes, characters that Windows forbids in names, and all controls. */
const UNSAFE = /[/\\"<>|:*?%\p{Cc}]/gu;
/** Marks that turn the direction of a text, and so can make `exe` at the end of a name look like the middle of it. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]/gu;
const EDGES = /^[.\s]+|[.\s]+$/g;

/** How a browser is to treat bytes of this type, and under which name it is to save them. */
export function dispositionOf(mediaType: string, name: string): string {
  const kind = SHOWN_TYPES.has(essenceOf(mediaType)) ? "inline" : "attachment";
  const fileName = cleanName(name);
  if (fileName === "") return kind;
  const ascii = fileName.replace(/[^ -~]/gu, "_");
  const quoted = `${kind}; filename="${ascii}"`;
  return ascii === fileName ? quoted : `${quoted}; filename*=UTF-8''${extendedValue(fileName)}`;
}

/** A name that names one file in the folder that a browser saves to, and no other; empty when nothing is left of it. */
function cleanName(name: string): string {
  return name.replace(INVISIBLE, "").replace(UNSAFE, "_").replace(EDGES, "");
}

/** The type and subtype in lower case, without parameters. */
function essenceOf(mediaType: string): string {
  return mediaType.split(";", 1)[0]!.trim().toLowerCase();
}

/** As RFC 8187 writes a text that is not ASCII. */
function extendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
