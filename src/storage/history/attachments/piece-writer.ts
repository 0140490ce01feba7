import { createHash } from "node:crypto";
import { PIECE_BYTES } from "../../../domain/attachment.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";

/** What arrived. */
export interface Arrived {
  /** Number of bytes. */
  readonly size: number;
  /** In lower-case hexadecimal. */
  readonly sha256: string;
}

/**
 * Passes bytes on in pieces of PIECE_BYTES, of which at most one waits while another one is stored. `onBytes` is told
 * how many have arrived after each chunk, and may refuse more by throwing.
 */
export async function cutIntoPieces(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (size: number) => void,
  store: (seq: number, piece: Uint8Array) => Promise<void>,
  call?: Call,
): Promise<Arrived> {
  const hash = createHash("sha256");
  let size = 0;
  let seq = 0;
  let piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  /** The buffer of the piece before. New ones for each piece would keep the garbage collector busy. */
  let spare: typeof piece | undefined;
  let filled = 0;
  let storing: Promise<void> = Promise.resolve();
  const pass = async () => {
    const full = piece.subarray(0, filled);
    // At most one piece is stored while the next one fills up.
    await storing;
    seq += 1;
    const at = seq;
    storing = store(at, full);
    // It is awaited before the next piece, or at the end.
    storing.catch(() => {});
    [piece, spare] = [spare ?? Buffer.allocUnsafeSlow(PIECE_BYTES), piece];
    filled = 0;
  };
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      checkCall(call);
      const next = await untilCallEnd(iterator.next(), call);
      if (next.done) break;
      const chunk = next.value;
      size += chunk.length;
      onBytes(size);
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) {
        const some = chunk.subarray(at, at + PIECE_BYTES - filled);
        piece.set(some, filled);
        filled += some.length;
        at += some.length;
        if (filled === PIECE_BYTES) await pass();
      }
    }
    if (filled > 0) await pass();
    await storing;
  } catch (error) {
    await storing.catch(() => {});
    iterator.return?.()?.catch(() => {});
    throw error;
  }
  return { size, sha256: hash.digest("hex") };
}
