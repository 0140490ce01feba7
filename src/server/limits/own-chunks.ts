import type { ServerHttp2Stream } from "node:http2";

/** How much more memory than its content a chunk may keep: as much as each chunk is counted for besides its content. */
export const CHUNK_BYTES = 256;

/**
 * Gives the chunks of a request's body memory of their own. Node reads up to 64 KB of a connection at once and hands
 * out slices of it, each of which keeps all of it in memory. A client that sends one byte of a body, and then much that
 * is not kept, would otherwise hold 64 KB by each byte.
 */
export function ownChunks(stream: ServerHttp2Stream): void {
  const { push } = stream;
  stream.push = function (chunk: Uint8Array | null, encoding) {
    return push.call(this, chunk === null ? null : ownMemory(chunk), encoding);
  };
}

function ownMemory(chunk: Uint8Array): Uint8Array {
  if (chunk.buffer.byteLength - chunk.length <= CHUNK_BYTES) return chunk;
  // Not from Node's pool, which chunks would share again.
  const own = Buffer.allocUnsafeSlow(chunk.length);
  own.set(chunk);
  return own;
}
