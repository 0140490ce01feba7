import { createHash, type Hash } from "node:crypto";
import type { Attachment } from "../../domain/attachment.js";
import { type LineSource, PIECE_START } from "./lines.js";

const PIECE_END = '"}';

export function pieceLine(bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  return `${PIECE_START}${base64}${PIECE_END}\n`;
}

export function isPiece(text: string): boolean {
  return text.startsWith(PIECE_START);
}

/** The bytes of a line that begins as a piece; null when it is no base64. */
function bytesOfPiece(text: string): Buffer | null {
  const line = text.trimEnd();
  const base64 = line.slice(PIECE_START.length, -PIECE_END.length);
  if (!line.endsWith(PIECE_END) || base64.length % 4 !== 0) return null;
  const bytes = Buffer.from(base64, "base64");
  // What is no base64 was passed over.
  return bytes.length === Buffer.byteLength(base64, "base64") ? bytes : null;
}

/** The bytes of an attachment whose first piece is at a place. What is no base64 is passed over: a check found none. */
export async function* readPieces(lines: ReturnType<LineSource["lines"]>): AsyncGenerator<Uint8Array> {
  for await (const { text } of lines) {
    if (!isPiece(text)) return;
    yield bytesOfPiece(text) ?? Buffer.alloc(0);
  }
}

/** Checks whether the pieces that follow an attachment are its bytes. */
export class PieceCheck {
  readonly #attachment: Attachment;
  readonly #line: number;
  readonly #hash: Hash = createHash("sha256");
  #size = 0;
  #last: number;
  #damaged: number | undefined;

  /** `line`: the number of its own line. */
  constructor(attachment: Attachment, line: number) {
    this.#attachment = attachment;
    this.#line = line;
    this.#last = line;
  }

  add(text: string, line: number): void {
    const bytes = bytesOfPiece(text);
    this.#last = line;
    if (bytes === null) this.#damaged ??= line;
    else this.#hash.update(bytes);
    this.#size += bytes?.length ?? 0;
  }

  /** Which line or lines are damaged, and how; undefined when none is. */
  end(): { readonly first: number; readonly last: number; readonly damage: string } | undefined {
    const { size, sha256 } = this.#attachment;
    if (this.#damaged !== undefined) return { first: this.#damaged, last: this.#damaged, damage: "it is not base64" };
    const lines = { first: Math.min(this.#line + 1, this.#last), last: this.#last };
    if (this.#size !== size) return { ...lines, damage: `they have ${this.#size} bytes, not ${size}` };
    if (this.#hash.digest("hex") === sha256) return undefined;
    return { ...lines, damage: "their SHA-256 is another" };
  }
}
