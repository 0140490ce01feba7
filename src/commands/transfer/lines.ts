import type { FileHandle } from "node:fs/promises";

/** A line of a file and its place. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** The offset of its first byte. */
  readonly offset: number;
  readonly text: string;
  /** Its length, without the end of the line. */
  readonly bytes: number;
}

/** The beginning of a line. */
export type LinePlace = Pick<Line, "number" | "offset">;

/** The first chunks are small, because many reads are of only a few lines. */
const FIRST_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_BYTES = 256 * 1024;
const MAX_LINE_BYTES = 128 * 1024 * 1024;
const NEWLINE = 0x0a;
/** How each line with bytes of an attachment begins. Such a line has nothing but base64 in it. */
export const PIECE_START = '{"piece":"';
const PIECE_HEAD = Buffer.from(PIECE_START);

/** A source of lines that can be read again from any place. */
export interface LineSource {
  /** The lines from a place to the end; from the first line when absent. */
  lines(from?: LinePlace): AsyncIterable<Line>;
  /** The name of a line in errors. */
  nameOf(number: number): string;
}

/** The lines of a file. */
export class FileLines implements LineSource {
  readonly #file: FileHandle;
  readonly #onRead: (bytes: number) => void;

  constructor(file: FileHandle, onRead: (bytes: number) => void) {
    this.#file = file;
    this.#onRead = onRead;
  }

  async *lines(from?: LinePlace): AsyncGenerator<Line> {
    let end = from?.offset ?? 0;
    for await (const line of readLines(this.#file, from)) {
      const next = line.offset + line.bytes + 1;
      this.#onRead(next - end);
      end = next;
      yield line;
    }
  }

  nameOf(number: number): string {
    return `Line ${number}`;
  }
}

/**
 * The lines from a place to the end of the file, without empty ones. Throws an Error that names a line that is not
 * UTF-8 or is too long.
 */
async function* readLines(file: FileHandle, from: LinePlace = { number: 1, offset: 0 }): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let { number, offset } = from;
  let rest: Buffer[] = [];
  let restBytes = 0;
  const lineOf = (bytes: Uint8Array): Line | undefined => {
    const line = { number, offset, text: decode(decoder, bytes, number), bytes: bytes.length };
    number += 1;
    offset += bytes.length + 1;
    return line.text.trim() === "" ? undefined : line;
  };
  for (
    let position = offset, chunkBytes = FIRST_CHUNK_BYTES;
    ;
    chunkBytes = Math.min(chunkBytes * 2, MAX_CHUNK_BYTES)
  ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end >= 0 && end < bytesRead; end = buffer.indexOf(NEWLINE, start)) {
      const line = lineOf(Buffer.concat([...rest, buffer.subarray(start, end)]));
      [rest, restBytes, start] = [[], 0, end + 1];
      if (line) yield line;
    }
    rest.push(buffer.subarray(start, bytesRead));
    restBytes += bytesRead - start;
    if (restBytes > MAX_LINE_BYTES) throw new Error(`Line ${number}: it is longer than ${MAX_LINE_BYTES} bytes`);
  }
  const last = restBytes > 0 ? lineOf(Buffer.concat(rest)) : undefined;
  if (last) yield last;
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array, number: number): string {
  // A damaged piece must not make the rest of the file unreadable.
  if (PIECE_HEAD.equals(bytes.subarray(0, PIECE_HEAD.length))) return Buffer.from(bytes).toString("latin1");
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new Error(`Line ${number}: it is not UTF-8`, { cause });
  }
}
