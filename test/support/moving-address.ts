import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** An address of one server after the other, such as that of a service whose servers fail over. */
export interface Address {
  readonly port: number;
  /** Leads new connections to the server on this port. */
  moveTo(port: number): void;
  /** Resets all open connections. */
  reset(): void;
  /** Leaves all open connections open, and passes nothing on them any more, as when a server is cut off. */
  silence(): void;
  close(): Promise<void>;
}

/** Passes connections on to the server on a port of 127.0.0.1. */
export async function startAddress(targetPort: number): Promise<Address> {
  const sockets = new Set<Socket>();
  let target = targetPort;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
    const ends = [client, upstream];
    const end = () => {
      for (const socket of ends) socket.resetAndDestroy();
    };
    for (const socket of ends) {
      sockets.add(socket);
      // What the one has sent before it closed still reaches the other.
      socket.on("error", end).on("close", () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    moveTo(port) {
      target = port;
    },
    reset() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
