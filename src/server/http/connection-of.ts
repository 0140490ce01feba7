import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Connection } from "../load/connections.js";
import type { Request } from "./body.js";

const connections = new WeakMap<Socket | ServerHttp2Session, Connection>();

/** Says which connection a socket of HTTP/1.1, or a session of HTTP/2, belongs to. */
export function bindConnection(carrier: Socket | ServerHttp2Session, connection: Connection): void {
  connections.set(carrier, connection);
}

/** Undefined when the connection has ended, or nobody counts it. */
export function connectionOf(request: Request): Connection | undefined {
  if (!("stream" in request)) return connections.get(request.socket);
  const { session } = request.stream;
  return session === undefined ? undefined : connections.get(session as ServerHttp2Session);
}
