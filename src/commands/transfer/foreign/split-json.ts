import { ValueScanner } from "./value-scanner.js";

/**
 * A piece of a document: the text of one value in UTF-8, how many bytes were passed over because no JSON is there, or
 * why a value is not there.
 */
export type Piece =
  | { readonly kind: "value"; readonly number: number; readonly unit: "entry" | "line"; readonly bytes: Buffer }
  | { readonly kind: "skipped"; readonly bytes: number }
  | { readonly kind: "lost"; readonly number: number; readonly unit: "entry" | "line"; readonly reason: string };

export type Chunks = AsyncIterable<Uint8Array>;

/** How much of a document is read before its form is known. */
const HEAD_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const OPEN_LIST = 0x5b;

/**
 * Splits a document into its values without parsing them: the items of a list, the lines of JSON Lines, or values one
 * after another. Memory holds one value at a time; one of more than `maxBytes` is passed over. Text before the first
 * value, such as a program's messages, is skipped.
 */
export async function* splitJson(chunks: Chunks, maxBytes: number): AsyncGenerator<Piece> {
  const { head, rest } = await readHead(chunks);
  const { start, skipped } = startOf(head);
  if (skipped > 0) yield { kind: "skipped", bytes: skipped };
  const document = joined(head.subarray(start), rest);
  if (isLines(head.subarray(start))) yield* splitLines(document, maxBytes);
  else yield* splitValues(document, maxBytes, head[start] === OPEN_LIST);
}

async function* splitLines(document: Chunks, maxBytes: number): AsyncGenerator<Piece> {
  let number = 1;
  let line: Uint8Array[] = [];
  let bytes = 0;
  const end = (): Piece | undefined => {
    const piece: Piece =
      bytes > maxBytes
        ? { kind: "lost", number, unit: "line", reason: tooLong(maxBytes) }
        : { kind: "value", number, unit: "line", bytes: Buffer.concat(line) };
    number += 1;
    line = [];
    bytes = 0;
    return piece.kind === "value" && isBlank(piece.bytes) ? undefined : piece;
  };
  const add = (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) line.push(chunk);
    else line = [];
  };
  for await (const chunk of document) {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, at));
      start = at + 1;
      const piece = end();
      if (piece) yield piece;
    }
    add(chunk.subarray(start));
  }
  const piece = end();
  if (piece) yield piece;
}

async function* splitValues(document: Chunks, maxBytes: number, isList: boolean): AsyncGenerator<Piece> {
  const scanner = new ValueScanner(isList, maxBytes);
  let number = 0;
  for await (const chunk of document) {
    for (const bytes of scanner.add(chunk)) {
      number += 1;
      yield bytes === null
        ? { kind: "lost", number, unit: "entry", reason: tooLong(maxBytes) }
        : { kind: "value", number, unit: "entry", bytes };
    }
  }
  const { unfinished, outside } = scanner.end();
  if (unfinished) yield { kind: "lost", number: number + 1, unit: "entry", reason: "the file ends within it" };
  if (outside > 0) yield { kind: "skipped", bytes: outside };
}

async function readHead(chunks: Chunks): Promise<{ head: Buffer; rest: AsyncIterator<Uint8Array> }> {
  const rest = chunks[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes < HEAD_BYTES; ) {
    const { value, done } = await rest.next();
    if (done) break;
    read.push(value);
    bytes += value.length;
  }
  return { head: Buffer.concat(read), rest };
}

async function* joined(head: Uint8Array, rest: AsyncIterator<Uint8Array>): Chunks {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/**
 * Where the first value begins, at the first line that begins as JSON does, and how much text is before it, apart from
 * white space and a byte order mark.
 */
function startOf(head: Buffer): { readonly start: number; readonly skipped: number } {
  const text = head.toString("latin1");
  const begin = /^(?:\xef\xbb\xbf)?\s*/.exec(text)?.[0].length ?? 0;
  const isJson = /^(?:\{\s*(?:["}]|$)|\[\s*(?:[[{\]"]|$))/.test(text.slice(begin));
  const found = isJson ? null : /^[ \t]*(?=\{\s*["}]|\[\s*[{\]])/m.exec(text.slice(begin));
  const skipped = found ? found.index + found[0].length : 0;
  return { start: begin + skipped, skipped };
}

/**
 * Whether each line is a value: one of the first lines is an object by itself. A value that is printed over several
 * lines has no such line.
 */
function isLines(head: Buffer): boolean {
  const lines = head.toString("utf8").split("\n");
  if (lines.length < 2) return false;
  return lines.slice(0, 50).some((line) => line.startsWith("{") && line.trim() !== "{}" && isJson(line));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function tooLong(maxBytes: number): string {
  return `it is longer than ${maxBytes} bytes`;
}
