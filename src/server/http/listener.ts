import { createServer as createHttp1Server, type Server as Http1Server, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Address, ServerLimits } from "../../config/config.js";
import { joinAuthorization } from "../auth/authenticator.js";
import type { Connections } from "../limits/connections.js";
import { awaitFirstBytes } from "../limits/first-bytes.js";
import {
  areHeadersTooLarge,
  HEADER_SETTINGS,
  MAX_HEADER_BYTES,
  MAX_HEADER_PAIRS,
  refuseTrailers,
} from "../limits/header-limit.js";
import { LiveSessions } from "../limits/live-sessions.js";
import { HANDSHAKE_TIMEOUT_MS, peerOf, TcpPort } from "../limits/tcp-port.js";
import type { TlsFiles } from "../tls-files.js";
import { readAbsoluteForm } from "./authority.js";
import { mayLast } from "./body-chunks.js";
import { bindConnection, connectionOf, type HttpRequest, type HttpResponse, isGone } from "./exchange.js";
import { inOrder, type LastAnswers } from "./in-order.js";
import { keepSession, LINGER_MS } from "./keep-session.js";
import { type CorsHeaders, refuseExpectation, refuseHeaders, refuseMalformed, refuseTunnel } from "./refusals.js";

/** Must never throw. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;

export interface HttpListenerOptions {
  readonly address: Address;
  readonly handler: HttpHandler;
  readonly serverLimits: ServerLimits;
  readonly connections: Connections;
  readonly tls?: TlsFiles | undefined;
  /** What answers to requests that never reach the handler say to pages of other origins. */
  readonly corsHeaders?: CorsHeaders | undefined;
}

const KEEP_ALIVE_MS = 75_000;
/** Enough for a page as JSON. When more is waiting to be sent, Node ends streams and finally the connection. */
const STREAM_MEMORY_MB = 4;

/**
 * Serves HTTP/1.1 and HTTP/2 on one port: with TLS distinguished by ALPN, without it by the first bytes. Node itself
 * can serve both on one port only with TLS.
 */
export class HttpListener {
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #port: TcpPort;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #live = new LiveSessions();
  readonly #lastAnswers: LastAnswers = new Map();
  #isDraining = false;

  constructor(options: HttpListenerOptions) {
    const { address, connections, tls, serverLimits } = options;
    this.#http1 = makeHttp1Server(options, this.#lastAnswers, () => this.#isDraining);
    this.#http2 = makeHttp2Server(options);
    this.#http2.on("session", (session) => this.#keep(session, serverLimits));
    this.#port = new TcpPort({
      name: "HTTP",
      address,
      connections,
      tls,
      protocols: ["h2", "http/1.1"],
      onSocket: (socket, connection) => {
        bindConnection(socket, connection);
        awaitFirstBytes(socket, (protocol) => {
          const isHttp2 = tls === undefined ? protocol.isHttp2 : (socket as TLSSocket).alpnProtocol === "h2";
          (isHttp2 ? this.#http2 : this.#http1).emit("connection", socket);
        });
      },
    });
    // Neither server listens itself; they are given connections. The HTTP/1.1 server checks its timeouts only after
    // this event.
    this.#http1.emit("listening");
  }

  /** Resolves to the port; rejects with a one-line message. */
  listen(): Promise<number> {
    return this.#port.listen();
  }

  /** Accepts no new connections, and ends each one with its last answer; resolves when all have ended. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    const closed = this.#port.close();
    for (const answer of this.#lastAnswers.values()) if (!answer.headersSent) announceEnd(answer);
    this.#live.askAll();
    for (const session of this.#sessions) session.close();
    this.closeIdle();
    await closed;
    this.#live.close();
  }

  /** Ends HTTP/1.1 connections that are waiting for their next request. */
  closeIdle(): void {
    this.#http1.closeIdleConnections();
  }

  /** Ends all connections at once. */
  kill(): void {
    this.#http1.close();
    for (const session of this.#sessions) session.destroy();
    this.#port.destroyAll();
  }

  #keep(session: ServerHttp2Session, serverLimits: ServerLimits): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.on("error", ignore);
    const connection = this.#port.connectionAt(peerOf(session.socket));
    if (connection !== undefined) {
      bindConnection(session, connection);
      this.#live.add(session, () => connection.destroy());
    }
    keepSession(session, serverLimits);
  }
}

function makeHttp1Server(
  { handler, serverLimits, corsHeaders = () => ({}) }: HttpListenerOptions,
  lastAnswers: LastAnswers,
  isDraining: () => boolean,
): Http1Server {
  const ordered = inOrder((request, response) => {
    const connection = connectionOf(request);
    const isOld = connection !== undefined && connection.ageMs > serverLimits.connectionAgeMs;
    if (isOld || isDraining()) announceEnd(response);
    readAbsoluteForm(request);
    handler(request, response);
  }, lastAnswers);
  const server = createHttp1Server(
    {
      headersTimeout: HANDSHAKE_TIMEOUT_MS,
      requestTimeout: Math.max(serverLimits.bodyTimeoutMs, HANDSHAKE_TIMEOUT_MS) + LINGER_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // The handler answers requests without a Host header, as it answers all errors.
      requireHostHeader: false,
      // By itself Node takes the first of several Host or Authorization headers, but a proxy may have decided by
      // another. Joined, they are refused.
      joinDuplicateHeaders: true,
      noDelay: true,
    },
    ordered,
  );
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    ordered(request, response);
  });
  server.on("checkExpectation", (request, response) => {
    hearErrors(request, response);
    refuseExpectation(request, response);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Node tells once that a request takes longer than others may.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && mayLast(socket)) return;
    const last = lastAnswers.get(socket as Socket);
    if (error.code === "ECONNRESET" || !socket.writable || isAwaited(last)) socket.destroy();
    else refuseMalformed(error, socket, corsHeaders);
  });
  // There is no listener for "upgrade" on purpose: without one, Node answers an offer to upgrade, as curl --http2 and
  // Java's client make it, in HTTP/1.1.
  server.on("connect", (_request, socket) => socket.destroy());
  return server;
}

/**
 * Lets a client that asks for it send its body once something reads it, so that it never sends one that is refused by
 * its headers. After such a refusal nobody could tell whether what follows on the connection is the body.
 */
function continueWhenRead(request: HttpRequest, response: HttpResponse): void {
  const read = request._read;
  const http1 = "stream" in response ? undefined : response;
  const keepsAlive = http1?.shouldKeepAlive ?? false;
  if (http1 !== undefined) http1.shouldKeepAlive = false;
  request._read = (size) => {
    request._read = read;
    // Node throws when the client of a stream has already reset it.
    if (!response.headersSent && !isGone(response)) {
      if (http1 !== undefined) http1.shouldKeepAlive = keepsAlive;
      (response as ServerResponse).writeContinue();
    }
    read.call(request, size);
  };
}

/** Makes an answer the last one of its connection, so that the client sends its next request on another. */
function announceEnd(response: ServerResponse): void {
  response.setHeader("Connection", "close");
}

/**
 * Whether the client is still waiting for the answer to a complete request. It would take an error about what it sent
 * after that request for this answer. An error in the body of the request itself is its answer.
 */
function isAwaited(answer: ServerResponse | undefined): boolean {
  if (answer === undefined || answer.closed) return false;
  return answer.req.complete || answer.headersSent || answer.socket === null;
}

function makeHttp2Server(options: HttpListenerOptions): Http2Server {
  const { handler, serverLimits, corsHeaders = () => ({}) } = options;
  const { connectionStreams } = serverLimits;
  const server = createHttp2Server(
    {
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      settings: { ...HEADER_SETTINGS, maxConcurrentStreams: connectionStreams, enablePush: false },
      maxSessionMemory: connectionStreams * STREAM_MEMORY_MB,
    },
    (request, response) => {
      if (areHeadersTooLarge(request.rawHeaders)) {
        hearErrors(request, response);
        return refuseHeaders(request, response, corsHeaders);
      }
      joinAuthorization(request.headers, request.rawHeaders);
      handler(request, response);
    },
  );
  server.on("connect", (request, response) => {
    hearErrors(request, response);
    refuseTunnel(request, response);
  });
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    server.emit("request", request, response);
  });
  server.on("checkExpectation", (request, response) => {
    hearErrors(request, response);
    refuseExpectation(request, response);
  });
  server.on("sessionError", ignore);
  server.on("stream", (stream) => {
    stream.on("error", ignore);
    refuseTrailers(stream);
  });
  return server;
}

/**
 * Broken connections are noticed by their "close" event. Without a listener, an "error" event would end the process.
 */
export function hearErrors(request: HttpRequest, response: HttpResponse): void {
  request.on("error", ignore);
  response.on("error", ignore);
}

function ignore(): void {}
