import { isUtf8 } from "node:buffer";
import type { Entry } from "../readers/reader.js";
import type { SourceDocument } from "./documents.js";
import type { ImportNotes } from "./import-notes.js";
import { parseEntry } from "./parse-entry.js";
import { type Piece, splitJson } from "./split-json.js";
import { SURROGATES } from "./storable.js";

/** Longer ones cannot be parsed, because of the longest strings of JavaScript. */
const MAX_ENTRY_BYTES = 384 * 1024 * 1024;

/** The entries of a JSON document, one at a time. What is not JSON is noted, and the others are read all the same. */
export async function* readEntries({ name, chunks }: SourceDocument, notes: ImportNotes): AsyncGenerator<Entry> {
  try {
    for await (const piece of splitJson(chunks(), MAX_ENTRY_BYTES)) {
      const entry = entryOf(piece, name, notes);
      if (entry) yield entry;
    }
  } catch (error) {
    notes.leftOut("files that are damaged, from some place on", `${name}: ${(error as Error).message}`);
  }
}

function entryOf(piece: Piece, name: string, notes: ImportNotes): Entry | undefined {
  if (piece.kind === "skipped") {
    notes.mended("text before or after the JSON, which was passed over", `${name}: ${piece.bytes} bytes`);
    return undefined;
  }
  const place = `${name}, ${piece.unit} ${piece.number}`;
  if (piece.kind === "lost") {
    notes.leftOut("entries that cannot be read", `${place}: ${piece.reason}`);
    return undefined;
  }
  if (!isUtf8(piece.bytes)) notes.mended(SURROGATES, `${place}: it is not UTF-8`);
  try {
    return { place, value: parseEntry(piece.bytes.toString("utf8")) };
  } catch (error) {
    notes.leftOut("entries that are not valid JSON", `${place}: ${(error as Error).message}`);
    return undefined;
  }
}
