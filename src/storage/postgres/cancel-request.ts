import { connect } from "node:net";
import type pg from "pg";

/** The code of a CancelRequest in version 3.0 of the protocol. */
const CANCEL_REQUEST = 80_877_102;

/**
 * Asks the server to end what a connection is doing, on a connection of its own, as the protocol wants it
 * (https://www.postgresql.org/docs/current/protocol-flow.html, "Canceling Requests in Progress"). Sent without TLS, as
 * libpq did up to version 16: the server reads it before it decides about TLS, and what it holds opens nothing else.
 * Resolves to whether the server has taken it within this time, which is when it has signaled the process of that
 * connection. A request that it has not taken may still hit whatever the connection does later. Nobody learns whether
 * it came in time.
 */
export function sendCancelRequest(client: pg.Client, withinMs: number): Promise<boolean> {
  const { host, port } = client;
  const { processID, secretKey } = client as unknown as { readonly processID: number; readonly secretKey: number };
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(CANCEL_REQUEST, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  return new Promise((resolve) => {
    const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const timer = setTimeout(() => socket.destroy(), withinMs);
    // The connection that is to be freed is closed anyway if this fails.
    socket.on("error", () => {});
    let isTaken = false;
    socket.on("end", () => {
      isTaken = true;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(isTaken);
    });
    // PgBouncer forgets a request whose sender closes first.
    socket.on("connect", () => socket.write(request));
    socket.resume();
  });
}
