import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { CallSignal } from "../call/call-signal.js";
import type { Connection } from "../limits/connections.js";

/** A request over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** The answer to a request. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** A request, and the answer to it. */
export interface HttpExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/**
 * Whether the client can no longer be reached. A request over HTTP/1.1 tells this only until its body has been read to
 * the end.
 */
export function isGone(message: HttpRequest | HttpResponse): boolean {
  return "stream" in message ? message.stream.destroyed || message.stream.closed : message.destroyed;
}

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * A signal that is aborted when the client has gone. In HTTP/1 that is when its connection closes. All requests of a
 * connection share one signal, because making one costs as much as everything else that a small request needs.
 */
export function goneSignal(request: HttpRequest, response: HttpResponse): AbortSignal {
  return "stream" in request ? signalOfStream(response) : signalOfConnection(request.socket);
}

function signalOfStream(response: HttpResponse): AbortSignal {
  const gone = new CallSignal();
  const abort = () => gone.abort(new Error("The client has gone"));
  response.once("close", () => {
    if (!response.writableEnded) abort();
  });
  if (isGone(response)) abort();
  return gone;
}

function signalOfConnection(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known) return known;
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  if (socket.destroyed) gone.abort();
  // Any number of pipelined requests may listen at the same time.
  setMaxListeners(0, gone.signal);
  signals.set(socket, gone.signal);
  return gone.signal;
}

const connections = new WeakMap<Socket | ServerHttp2Session, Connection>();

/** Records the connection that an HTTP/1.1 socket or an HTTP/2 session belongs to. */
export function bindConnection(carrier: Socket | ServerHttp2Session, connection: Connection): void {
  connections.set(carrier, connection);
}

/** Undefined when the connection has ended or is not counted. */
export function connectionOf(request: HttpRequest): Connection | undefined {
  if (!("stream" in request)) return connections.get(request.socket);
  const { session } = request.stream;
  return session === undefined ? undefined : connections.get(session as ServerHttp2Session);
}
