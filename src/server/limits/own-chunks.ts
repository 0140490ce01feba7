import type { ServerHttp2Stream } from "node:http2";
import { Readable } from "node:stream";

/** How much more memory than its content a chunk may keep: as much as each chunk is counted for besides its content. */
export const CHUNK_BYTES = 256;

/**
 * Gives the chunks of a request's body memory of their own. Node reads up to 64 KB of a connection at once and hands
 * out slices of it, each of which keeps all of it in memory. A client that sends one byte of a body, and then much that
 * is not kept, would otherwise hold 64 KB by each byte.
 */
export function ownChunks(stream: ServerHttp2Stream): void {
  stream.push = pushOwn;
}

/** Does so only for chunks that nobody reads yet. Who reads them passes those on that are kept to {@link ownMemory}. */
export function ownWaitingChunks(stream: ServerHttp2Stream): void {
  stream.push = pushOwnIfWaiting;
}

function pushOwn(this: ServerHttp2Stream, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  return Readable.prototype.push.call(this, chunk === null ? null : ownMemory(chunk), encoding);
}

function pushOwnIfWaiting(this: ServerHttp2Stream, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  const isKept = chunk !== null && this.readableFlowing !== true;
  return Readable.prototype.push.call(this, isKept ? ownMemory(chunk) : chunk, encoding);
}

/** The chunk itself if it keeps little more than its content in memory, and otherwise a copy. */
export function ownMemory(chunk: Buffer): Buffer {
  if (chunk.buffer.byteLength - chunk.length <= CHUNK_BYTES) return chunk;
  // Not from Node's pool, which chunks would share again.
  const own = Buffer.allocUnsafeSlow(chunk.length);
  own.set(chunk);
  return own;
}
