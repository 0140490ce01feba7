import { constants } from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { Code } from "@connectrpc/connect";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServerUnaryCall,
  type ServerWritableStream,
  setLogger,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { type WireMethod, wireMethod } from "../../codec/binary-codec.js";
import type { Address, ServerLimits } from "../../config/config.js";
import { GRPC_EXTRA_BYTES } from "../../config/server-limits.js";
import { joinAuthorization } from "../auth/authenticator.js";
import { CallSignal } from "../call/call-signal.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import type { HostCheck } from "../http/hosts.js";
import { endAged } from "../limits/connection-age.js";
import type { Connections } from "../limits/connections.js";
import { awaitFirstBytes } from "../limits/first-bytes.js";
import { LiveSessions } from "../limits/live-sessions.js";
import { STALL_MS, withinStallTime } from "../limits/stall.js";
import { peerOf, TcpPort } from "../limits/tcp-port.js";
import type { Logger } from "../logging.js";
import type { TlsFiles } from "../tls-files.js";
import { adjustHeaders } from "./adjust-headers.js";
import { FRAME_BYTES } from "./decompression.js";
import { admittedOf, makeGate } from "./gate.js";
import { announceHeaderLimit, markLargeHeaders, onSession } from "./header-limit.js";
import { Health } from "./health.js";
import { refuseOtherProtocols } from "./other-protocols.js";
import { addReflection, REFLECTION_METHODS } from "./reflection.js";
import { toStatus } from "./status.js";
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

type AnyCall = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** Made only once, because making an error each time would cost more than the rest of an abort. */
const CLIENT_GONE = new ApiError(Code.Canceled, "The call was canceled");

/** Serves native gRPC, with health and reflection. Rejects with a one-line message when it cannot listen. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, pipeline, serverLimits, connections, isServedHost, tls, logger } = options;
  tellPackageToLog(logger);
  const maxBytes = serverLimits.bodyBytes + GRPC_EXTRA_BYTES;
  const gate = makeGate({
    methods,
    openMethods: new Map([...Health.openMethods, ...(options.reflection ? REFLECTION_METHODS : [])]),
    pipeline,
    serverLimits,
    isServedHost,
    maxBytes: maxBytes + FRAME_BYTES,
    connectionAt: (peer) => port.connectionAt(peer),
    logger,
  });
  const server = new Server({ ...channelOptions(serverLimits, maxBytes), interceptors: [gate] });
  addMethods(server, options);
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

function addMethods(server: Server, options: GrpcServerOptions): void {
  const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const method of options.methods) {
    const path = `/${method.desc.parent.typeName}/${method.desc.name}`;
    const wire = wireMethod(method.desc);
    const isStream = method.stream !== undefined;
    definition[path] = {
      path,
      requestStream: false,
      responseStream: isStream,
      requestSerialize: asBuffer,
      // The handler decodes the request, because grpc-js would answer `internal` when decoding fails.
      requestDeserialize: asBuffer,
      // The handler encodes the answer and counts its bytes.
      responseSerialize: asBuffer,
      responseDeserialize: asBuffer,
    };
    const calls = new MethodCalls(method, wire, options);
    implementation[path] = isStream ? calls.stream : calls.unary;
  }
  server.addService(definition, implementation);
}

/** The calls of one method. Its handlers must never throw or reject, because grpc-js would end the process. */
class MethodCalls {
  readonly #method: ApiMethod;
  readonly #wire: WireMethod;
  readonly #options: GrpcServerOptions;

  constructor(method: ApiMethod, wire: WireMethod, options: GrpcServerOptions) {
    this.#method = method;
    this.#wire = wire;
    this.#options = options;
  }

  readonly unary: handleUnaryCall<Buffer, Buffer> = (call, respond) => {
    const gone = new Gone(call);
    this.#answer(call, gone)
      .then(
        (answer) => {
          gone.forget();
          respond(null, answer);
          this.#abandonUnread(call);
        },
        (error: unknown) => {
          gone.forget();
          respond(toStatus(error));
        },
      )
      .catch((err: unknown) => this.#logUnsent(err));
  };

  readonly stream: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    this.#pump(call, this.#frontCall(call, new Gone(call)))
      .catch((error: unknown) => {
        if (!call.cancelled) call.emit("error", toStatus(error));
      })
      .catch((err: unknown) => this.#logUnsent(err));
  };

  async #answer(call: ServerUnaryCall<Buffer, Buffer>, gone: Gone): Promise<Buffer> {
    const frontCall = this.#frontCall(call, gone);
    const request = this.#wire.decodeRequest(call.request, frontCall.admission);
    const answer = await this.#options.pipeline.unary(this.#method, request, frontCall);
    const bytes = asBuffer(this.#wire.encodeResponse(answer));
    frontCall.admission.hold(bytes.length);
    return bytes;
  }

  async #pump(call: ServerWritableStream<Buffer, Buffer>, frontCall: FrontCall): Promise<void> {
    const request = this.#wire.decodeRequest(call.request, frontCall.admission);
    const events = await this.#options.pipeline.stream(this.#method, request, frontCall);
    call.sendMetadata(new Metadata());
    for await (const event of events) {
      const bytes = asBuffer(this.#wire.encodeResponse(event));
      frontCall.admission.hold(bytes.length);
      await withinStallTime((done) => call.write(bytes, done), frontCall.signal);
      frontCall.admission.release(bytes.length);
    }
    call.end();
  }

  #frontCall(call: AnyCall, gone: Gone): FrontCall {
    const deadlineMs = Number(call.getDeadline());
    const { principal, connection, facts, admission } = admittedOf(call.metadata);
    return {
      front: "grpc",
      principal: principal!,
      connection,
      admission,
      deadlineMs: Number.isFinite(deadlineMs) ? deadlineMs : undefined,
      signal: gone,
      facts,
    };
  }

  /** Ends the stream of a client that leaves its answer unread. */
  #abandonUnread(call: AnyCall): void {
    const { stream } = admittedOf(call.metadata);
    if (stream.destroyed) return;
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), STALL_MS).unref();
    stream.once("close", () => clearTimeout(timer));
  }

  #logUnsent(err: unknown): void {
    this.#options.logger.error({ err, method: this.#method.desc.name }, "An answer could not be sent");
  }
}

/** Tells when the client has gone. grpc-js also reports a call as cancelled after each normal end. */
class Gone extends CallSignal {
  #isForgotten = false;

  constructor(call: AnyCall) {
    super();
    call.on("cancelled", () => {
      if (!this.#isForgotten) this.abort(CLIENT_GONE);
    });
  }

  forget(): void {
    this.#isForgotten = true;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
