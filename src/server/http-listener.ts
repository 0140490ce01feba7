import { readFileSync } from "node:fs";
import {
  createServer as createHttp1Server,
  type Server as Http1Server,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { type Address, formatAddress } from "../config.js";
import { inTurn } from "./in-turn.js";

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;
/** Must never throw. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;

export interface HttpListenerOptions {
  readonly address: Address;
  readonly handler: HttpHandler;
  readonly connectionStreams: number;
  readonly tls?: { readonly certPath: string; readonly keyPath: string } | undefined;
}

/** What a client of HTTP/2 sends first; no request of HTTP/1.1 begins like it. */
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 75_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** A page, as JSON. Node ends streams, and at last the connection, when what waits to be sent takes more. */
const STREAM_MEMORY_MB = 4;
const BAD_REQUEST = { 400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large" } as const;

/**
 * HTTP/1.1 and HTTP/2 on one port: without TLS told apart by the first bytes, with TLS by ALPN. Node serves both on one port only with TLS.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#http1 = makeHttp1Server(options);
    this.#http2 = makeHttp2Server(options, this.#sessions);
    this.#listener = options.tls === undefined ? this.#listenPlain() : this.#listenTls(options.tls);
    // Both servers are given connections and never listen themselves; the timeouts of the first are checked only after this event.
    this.#http1.emit("listening");
  }

  /** Resolves to the port; rejects with one clear line. */
  listen(): Promise<number> {
    const { host, port } = this.#options.address;
    return new Promise((resolve, reject) => {
      this.#listener.once("error", (cause: NodeJS.ErrnoException) => {
        const why = cause.code === "EADDRINUSE" ? "the port is in use" : cause.message;
        reject(new Error(`HTTP cannot listen on ${formatAddress({ host, port })}: ${why}`, { cause }));
      });
      this.#listener.listen(port, host, () => resolve((this.#listener.address() as AddressInfo).port));
    });
  }

  /** Takes no new connections, and ends those that are idle; resolves when all have ended. */
  async drain(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    this.closeIdle();
    await closed;
  }

  /** Ends connections of HTTP/1.1 that wait for their next request. */
  closeIdle(): void {
    this.#http1.closeIdleConnections();
  }

  /** Ends all connections at once. */
  kill(): void {
    this.#http1.close();
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #listenPlain(): Server {
    return createTcpServer((socket) => {
      this.#track(socket);
      this.#peek(socket);
    });
  }

  #listenTls({ certPath, keyPath }: { readonly certPath: string; readonly keyPath: string }): Server {
    const cert = readFileSync(certPath);
    const key = readFileSync(keyPath);
    const handshakeTimeout = HEADERS_TIMEOUT_MS;
    const server = createTlsServer({ cert, key, ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout });
    server.on("connection", (socket) => this.#track(socket));
    server.on("secureConnection", (socket: TLSSocket) => {
      (socket.alpnProtocol === "h2" ? this.#http2 : this.#http1).emit("connection", socket);
    });
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // Broken connections are noticed by their "close"; without a listener an "error" would end the process.
    socket.on("error", ignore);
  }

  /** Reads until the first bytes tell which protocol it is, puts them back, and hands the socket on. */
  #peek(socket: Socket): void {
    let seen = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), HEADERS_TIMEOUT_MS);
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
      (isHttp2 ? this.#http2 : this.#http1).emit("connection", socket);
      process.nextTick(() => socket.resume());
    };
    socket.on("data", onData);
    socket.once("close", stop);
  }
}

function makeHttp1Server({ handler }: HttpListenerOptions): Http1Server {
  const server = createHttp1Server(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Missing ones are answered by the handler, as all errors are.
      requireHostHeader: false,
      noDelay: true,
    },
    inTurn(handler),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy();
    const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
    const body = JSON.stringify({
      code: 3,
      message: `${BAD_REQUEST[status]}: this is no valid HTTP request`,
      details: [],
    });
    const head = `HTTP/1.1 ${status} ${BAD_REQUEST[status]}\r\ncontent-type: application/json\r\nconnection: close`;
    socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
  // No listener for "upgrade": without one Node answers an offer to upgrade, as curl --http2 and Java's client make it, in HTTP/1.1.
  server.on("connect", (_request, socket) => socket.destroy());
  return server;
}

function makeHttp2Server(
  { handler, connectionStreams }: HttpListenerOptions,
  sessions: Set<ServerHttp2Session>,
): Http2Server {
  const server = createHttp2Server(
    {
      settings: { maxConcurrentStreams: connectionStreams, enablePush: false, maxHeaderListSize: MAX_HEADER_BYTES },
      maxSessionMemory: connectionStreams * STREAM_MEMORY_MB,
    },
    handler,
  );
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("error", ignore);
  });
  server.on("sessionError", ignore);
  server.on("stream", (stream) => stream.on("error", ignore));
  return server;
}

/** Broken connections are noticed by their "close"; without a listener an "error" would end the process. */
export function hearErrors(request: HttpRequest, response: HttpResponse): void {
  request.on("error", ignore);
  response.on("error", ignore);
}

function ignore(): void {}
