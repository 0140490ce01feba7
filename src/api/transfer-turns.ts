import { setImmediate } from "node:timers/promises";

/** How many bytes a transfer moves in one turn. */
const TURN_BYTES = 256 * 1024;

/** How many transfers of this process are under way. */
let transfers = 0;
let last: Promise<unknown> = Promise.resolve();

/**
 * Passes the chunks of a transfer on, and waits for its turn after every 256 KiB. Of several transfers, one has its
 * turn in each iteration of the event loop, so that other calls wait for one piece and not for a piece of each.
 */
export async function* inTurns(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  transfers += 1;
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes >= TURN_BYTES) {
        bytes = 0;
        if (transfers > 1) await turn();
      }
      yield chunk;
    }
  } finally {
    transfers -= 1;
  }
}

function turn(): Promise<unknown> {
  last = last.then(() => setImmediate());
  return last;
}
