import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Systems give connections ports above these. Otherwise a client that keeps trying to reach a server that restarts
 * could be given the server's own port, and would connect to itself.
 */
const FIRST = 10_000;
const LAST = 32_767;

/** Resolves to a port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") continue;
      throw error;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
