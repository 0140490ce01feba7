/** What a file is by its first bytes; `text` for all that may be text. */
export type FileKind = "text" | "zip" | "gzip" | "sqlite" | "empty" | { readonly refusal: string };

const UNPACK = "unpack it first";
const HTML = "an HTML page; exports of ChatGPT have their data in conversations.json, beside chat.html";

/** The first bytes of each kind, in hexadecimal digits. */
const BEGINNINGS: readonly (readonly [string, FileKind])[] = [
  ["504b0304", "zip"],
  ["504b0506", "zip"],
  ["504b0708", "zip"],
  ["1f8b", "gzip"],
  ["53514c69746520666f726d6174203300", "sqlite"],
  ["377abcaf271c", { refusal: `a 7z archive; ${UNPACK}` }],
  ["526172211a07", { refusal: `a RAR archive; ${UNPACK}` }],
  ["fd377a585a00", { refusal: `compressed with xz; ${UNPACK}` }],
  ["425a68", { refusal: `compressed with bzip2; ${UNPACK}` }],
  ["28b52ffd", { refusal: `compressed with zstd; ${UNPACK}` }],
  ["255044462d", { refusal: "a PDF document" }],
  ["89504e47", { refusal: "a picture" }],
  ["ffd8ff", { refusal: "a picture" }],
];
/** Where tar archives have their mark. */
const TAR_OFFSET = 257;

export function kindOf(head: Buffer): FileKind {
  if (head.length === 0) return "empty";
  const digits = head.toString("hex", 0, 16);
  const known = BEGINNINGS.find(([beginning]) => digits.startsWith(beginning));
  if (known) return known[1];
  if (head.toString("latin1", TAR_OFFSET, TAR_OFFSET + 5) === "ustar") return { refusal: `a tar archive; ${UNPACK}` };
  return /^\s*<(?:!doctype html|html)/i.test(head.toString("utf8")) ? { refusal: HTML } : "text";
}
