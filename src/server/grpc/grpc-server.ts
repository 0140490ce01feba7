import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { Server, ServerCredentials, type ServerOptions, setLogger } from "@grpc/grpc-js";
import type { ApiMethod } from "../../api/method-table.js";
import { wireMethod } from "../../codec/binary-codec.js";
import type { Address, ServerLimits } from "../../config/config.js";
import { GRPC_EXTRA_BYTES } from "../../config/server-limits.js";
import { joinAuthorization } from "../auth/authenticator.js";
import type { CallPipeline } from "../call/front-call.js";
import type { HostCheck } from "../http/hosts.js";
import { endAged } from "../limits/connection-age.js";
import type { Connections } from "../limits/connections.js";
import { awaitFirstBytes } from "../limits/first-bytes.js";
import { LiveSessions } from "../limits/live-sessions.js";
import { peerOf, TcpPort } from "../limits/tcp-port.js";
import type { Logger } from "../logging.js";
import type { TlsFiles } from "../tls-files.js";
import { adjustHeaders } from "./adjust-headers.js";
import type { ApiRoute } from "./api-call.js";
import { FRAME_BYTES } from "./decompression.js";
import { makeGate } from "./gate.js";
import { announceHeaderLimit, markLargeHeaders } from "./header-limit.js";
import { Health } from "./health.js";
import { refuseOtherProtocols } from "./other-protocols.js";
import { addReflection, REFLECTION_METHODS } from "./reflection.js";
import { knowPeer, onSession } from "./sessions.js";
import { withholdTimeout } from "./timeouts.js";
import { passUnknownMethods } from "./unknown-methods.js";

export interface GrpcServerOptions {
  readonly address: Address;
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly serverLimits: ServerLimits;
  readonly connections: Connections;
  readonly isServedHost: HostCheck;
  readonly reflection: boolean;
  readonly tls?: TlsFiles | undefined;
  readonly logger: Logger;
}

export interface GrpcServer {
  readonly port: number;
  readonly health: Health;
  /** Accepts no new connections; resolves when the last call has ended. */
  drain(): Promise<void>;
  /** Ends all connections at once. */
  kill(): void;
}

/** Serves native gRPC, with health and reflection. Rejects with a one-line message when it cannot listen. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, serverLimits, connections, isServedHost, tls, logger } = options;
  tellPackageToLog(logger);
  const maxBytes = serverLimits.bodyBytes + GRPC_EXTRA_BYTES;
  const routes = routesOf(methods);
  const openMethods = new Map([...Health.openMethods, ...(options.reflection ? REFLECTION_METHODS : [])]);
  const gate = makeGate(routes, openMethods, {
    pipeline,
    serverLimits,
    isServedHost,
    maxBytes: maxBytes + FRAME_BYTES,
    logger,
  });
  const server = new Server({ ...channelOptions(serverLimits, maxBytes), interceptors: [gate] });
  addMethods(server, routes);
  const services = [...new Set(methods.map(({ desc }) => desc.parent))];
  const health = new Health(services.map(({ typeName }) => typeName));
  health.addTo(server);
  if (options.reflection) addReflection(server, services);
  passUnknownMethods(server);
  adjustHeaders(server, (stream, headers, rawHeaders) => {
    if (refuseOtherProtocols(stream, headers)) return false;
    markLargeHeaders(stream, rawHeaders);
    withholdTimeout(stream, headers);
    joinAuthorization(headers, rawHeaders);
    return true;
  });
  announceHeaderLimit(server);
  // Sockets are passed to grpc-js after TLS, so that both ports count connections and speak TLS in the same way.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const live = new LiveSessions();
  onSession(server, (session) => {
    // grpc-js would choose a time of its own for each connection, and leave a list of timers behind.
    endAged(session, serverLimits.connectionAgeMs);
    const connection = port.connectionAt(peerOf(session.socket));
    knowPeer(session, connection);
    if (connection !== undefined) live.add(session, () => connection.destroy());
  });
  const port = new TcpPort({
    name: "gRPC",
    address,
    connections,
    tls,
    protocols: ["h2"],
    onSocket: (socket) => {
      if (tls !== undefined && (socket as TLSSocket).alpnProtocol !== "h2") socket.destroy();
      else awaitFirstBytes(socket, () => injector.injectConnection(socket as Duplex));
    },
  });
  return {
    port: await port.listen(),
    health,
    drain: async () => {
      live.askAll();
      // grpc-js may never call back if a connection is breaking just now. The port knows when all have ended.
      server.tryShutdown(() => undefined);
      await port.close();
      live.close();
    },
    kill: () => {
      server.forceShutdown();
      port.destroyAll();
    },
  };
}

/** `maxBytes`: the largest message that a client may send. */
function channelOptions(serverLimits: ServerLimits, maxBytes: number): ServerOptions {
  return {
    "grpc.max_receive_message_length": maxBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": serverLimits.connectionStreams,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.max_connection_idle_ms": serverLimits.connectionIdleMs,
  };
}

/** grpc-js writes to standard error by itself. These messages concern clients, or are thrown as well. */
function tellPackageToLog(logger: Logger): void {
  const log = (text: unknown) => logger.debug({ text }, "gRPC");
  setLogger({ error: log, info: log, debug: log });
}

/** The gate answers the calls of these methods. grpc-js only has to know them. */
function addMethods(server: Server, routes: ReadonlyMap<string, ApiRoute>): void {
  const asIs = (bytes: Buffer): Buffer => bytes;
  for (const path of routes.keys()) server.register(path, () => undefined, asIs, asIs, "unary");
}

function routesOf(methods: readonly ApiMethod[]): ReadonlyMap<string, ApiRoute> {
  return new Map(
    methods.map((method) => {
      const { desc } = method;
      return [`/${desc.parent.typeName}/${desc.name}`, { method, wire: wireMethod(desc) }];
    }),
  );
}
