import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { type Address, formatAddress } from "../../config/config.js";
import type { TlsFiles } from "../tls-files.js";
import type { Connection, Connections } from "./connections.js";

export interface TcpPortOptions {
  /** The name in errors: `HTTP` or `gRPC`. */
  readonly name: string;
  readonly address: Address;
  readonly connections: Connections;
  readonly tls?: TlsFiles | undefined;
  /** The protocols that ALPN may choose. */
  readonly protocols: readonly string[];
  /** Receives each connection, after the TLS handshake. */
  readonly onSocket: (socket: Socket | TLSSocket, connection: Connection) => void;
}

export const HANDSHAKE_TIMEOUT_MS = 15_000;
/** How long a client may keep its side open after this side has ended. */
export const HALF_OPEN_MS = 5000;
/** After this much silence the system checks whether the other end is still there. */
const TCP_KEEP_ALIVE_MS = 60_000;

/** A port that counts its connections and passes them to whatever speaks the protocol. */
export class TcpPort {
  readonly #options: TcpPortOptions;
  readonly #server: Server;
  /**
   * Connections by the address and port of the other end. grpc-js tells nothing else about the connection of a call,
   * and both stay the same after a TLS handshake.
   */
  readonly #connections = new Map<string, Connection>();

  constructor(options: TcpPortOptions) {
    this.#options = options;
    this.#server = options.tls === undefined ? this.#listenPlain() : this.#listenTls(options.tls);
  }

  /** Resolves to the port; rejects with a one-line message. */
  listen(): Promise<number> {
    const { name, address } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", (cause: NodeJS.ErrnoException) => {
        const why = cause.code === "EADDRINUSE" ? "the port is in use" : cause.message;
        reject(new Error(`${name} cannot listen on ${formatAddress(address)}: ${why}`, { cause }));
      });
      this.#server.listen(address.port, address.host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  /** `peer` is an address and a port joined by a colon. */
  connectionAt(peer: string): Connection | undefined {
    return this.#connections.get(peer);
  }

  /** Accepts no new connections; resolves when all have ended. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Ends all connections at once. */
  destroyAll(): void {
    for (const connection of this.#connections.values()) connection.destroy();
  }

  #listenPlain(): Server {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    return createTcpServer(options, (socket) => {
      const connection = this.#track(socket);
      if (connection !== undefined) this.#pass(socket, connection);
    });
  }

  #listenTls(tls: TlsFiles): Server {
    const server = createTlsServer({
      ...tls.current,
      ALPNProtocols: [...this.#options.protocols],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    });
    tls.onChange((pair) => server.setSecureContext(pair));
    server.on("connection", (socket) => this.#track(socket));
    server.on("secureConnection", (socket) => {
      socket.on("error", ignore);
      const connection = this.#connections.get(peerOf(socket));
      if (connection === undefined) socket.destroy();
      else this.#pass(socket, connection);
    });
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  #pass(socket: Socket | TLSSocket, connection: Connection): void {
    // A client that never ends its own side would otherwise keep the connection for ever.
    socket.once("finish", () => {
      const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS).unref();
      socket.once("close", () => clearTimeout(timer));
    });
    this.#options.onSocket(socket, connection);
  }

  #track(socket: Socket): Connection | undefined {
    // Broken connections are noticed by their "close" event. Without a listener, an "error" event would end the
    // process.
    socket.on("error", ignore);
    const connection = this.#options.connections.add(socket);
    if (connection === undefined) return undefined;
    const peer = peerOf(socket);
    this.#connections.set(peer, connection);
    connection.onEnd(() => {
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer);
    });
    return connection;
  }
}

/** The other end of a connection in the form in which grpc-js names it. */
export function peerOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress}:${remotePort}`;
}

function ignore(): void {}
