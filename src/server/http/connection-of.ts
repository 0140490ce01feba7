import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Connection } from "../limits/connections.js";
import type { HttpRequest } from "./exchange.js";

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
