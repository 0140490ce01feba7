import type { Socket } from "node:net";
import { HANDSHAKE_TIMEOUT_MS } from "./tcp-port.js";

/** The first bytes that an HTTP/2 client sends. No HTTP/1.1 request begins like this. */
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Reads until the first bytes show whether the client speaks HTTP/2, puts them back, and passes the socket on. Until
 * then a connection takes no more memory than its socket; a session of HTTP/2 takes 100 KB. A client that says nothing
 * is disconnected.
 */
export function awaitFirstBytes(socket: Socket, proceed: (protocol: { readonly isHttp2: boolean }) => void): void {
  let seen = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), HANDSHAKE_TIMEOUT_MS);
  const stop = () => {
    clearTimeout(timer);
    socket.off("data", onData);
  };
  const onData = (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, HTTP2_PREFACE.length);
    const isHttp2 = seen.subarray(0, length).equals(HTTP2_PREFACE.subarray(0, length));
    if (isHttp2 && length < HTTP2_PREFACE.length) return;
    stop();
    socket.pause();
    socket.unshift(seen);
    proceed({ isHttp2 });
    process.nextTick(() => socket.resume());
  };
  socket.on("data", onData);
  socket.once("close", stop);
}
