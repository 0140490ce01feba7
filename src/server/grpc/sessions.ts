import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import type { Connection } from "../limits/connections.js";

/** What grpc-js keeps private. */
interface WithServers {
  readonly http2Servers: ReadonlyMap<Http2Server, unknown>;
}

/** The other end of a session. */
export interface Peer {
  readonly connection: Connection | undefined;
  /** Without the port. */
  readonly address: string;
}

const PEER = Symbol("peer");

type KnownSession = ServerHttp2Session & { [PEER]?: Peer };

const UNKNOWN: Peer = { connection: undefined, address: "unknown" };

/** Passes on each HTTP/2 session as it begins. */
export function onSession(server: Server, listener: (session: ServerHttp2Session) => void): void {
  for (const http2 of (server as unknown as WithServers).http2Servers.keys()) http2.on("session", listener);
}

/** Notes whose session it is, because the socket tells its address slowly, and no longer after it was closed. */
export function knowPeer(session: KnownSession, connection: Connection | undefined): void {
  session[PEER] = { connection, address: session.socket.remoteAddress ?? UNKNOWN.address };
}

export function peerOf({ session }: ServerHttp2Stream): Peer {
  return (session as KnownSession | undefined)?.[PEER] ?? UNKNOWN;
}
