import { readFileSync } from "node:fs";
import type { Message } from "@bufbuild/protobuf";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
  setLogger,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { ApiMethod } from "../api/method-table.js";
import { type Address, formatAddress, type LoadLimits } from "../config.js";
import { DomainError } from "../domain/errors.js";
import { answerOf } from "./answer-of.js";
import type { Caller, FrontCall, Principal } from "./front-call.js";
import { Health } from "./health.js";
import type { Logger } from "./logging.js";
import { addReflection } from "./reflection.js";
import { withinStallTime } from "./stall.js";
import { type WireMethod, wireMethod } from "./struct-wire.js";

export interface GrpcServerOptions {
  readonly address: Address;
  readonly methods: readonly ApiMethod[];
  readonly caller: Caller;
  readonly load: LoadLimits;
  readonly tls?: { readonly certPath: string; readonly keyPath: string } | undefined;
  readonly logger: Logger;
}

export interface GrpcServer {
  readonly port: number;
  readonly health: Health;
  /** Takes no new connections; resolves when the last call has ended. */
  drain(): Promise<void>;
  /** Ends all connections at once. */
  kill(): void;
}

/** Who calls, by the metadata object that grpc-js hands on from the interceptor to the handler. */
type Principals = WeakMap<Metadata, Principal>;

interface Status {
  readonly code: status;
  readonly details: string;
}

type AnyCall = ServerUnaryCall<Buffer, Message> | ServerWritableStream<Buffer, Message>;

/** Made once: making an error for each would cost more than the rest of an abort. */
const CLIENT_GONE = new DomainError("canceled", "The call was canceled");

/** What a request may have beyond a body by HTTP: the API's own checks name the exact limit. */
const EXTRA_RECEIVE_BYTES = 1024 * 1024;

/** Serves native gRPC, with health and reflection. Rejects with one clear line when it cannot listen. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, methods, load, logger } = options;
  tellPackageToLog(logger);
  const principals: Principals = new WeakMap();
  const server = new Server({
    "grpc.max_receive_message_length": load.bodyBytes + EXTRA_RECEIVE_BYTES,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": load.connectionStreams,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    interceptors: [authenticateFirst(options, principals)],
  });
  addMethods(server, options, principals);
  const services = [...new Set(methods.map(({ desc }) => desc.parent))];
  const health = new Health(services.map(({ typeName }) => typeName));
  health.addTo(server);
  addReflection(server, services);
  return {
    port: await listen(server, address, credentials(options.tls)),
    health,
    drain: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
    kill: () => server.forceShutdown(),
  };
}

/** grpc-js writes to standard error by itself; what it says there is about clients, or thrown as well. */
function tellPackageToLog(logger: Logger): void {
  const log = (text: unknown) => logger.debug({ text }, "gRPC");
  setLogger({ error: log, info: log, debug: log });
}

function listen(server: Server, address: Address, creds: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(formatAddress(address), creds, (cause, port) => {
      if (cause === null) return resolve(port);
      const why = cause.message.includes("EADDRINUSE") ? "the port is in use" : cause.message;
      reject(new Error(`gRPC cannot listen on ${formatAddress(address)}: ${why}`, { cause }));
    });
  });
}

function credentials(tls: GrpcServerOptions["tls"]): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(null, [
    { cert_chain: readFileSync(tls.certPath), private_key: readFileSync(tls.keyPath) },
  ]);
}

function addMethods(server: Server, options: GrpcServerOptions, principals: Principals): void {
  const definition: Record<string, MethodDefinition<Buffer, Message>> = {};
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
      // Decoded by the handler: grpc-js would answer what cannot be decoded with `internal`.
      requestDeserialize: asBuffer,
      responseSerialize: (message: Message) => asBuffer(wire.encodeResponse(message)),
      responseDeserialize: wire.decodeResponse,
    };
    const calls = new MethodCalls(method, wire, options, principals);
    implementation[path] = isStream ? calls.stream : calls.unary;
  }
  server.addService(definition, implementation);
}

/** The calls of one method. Its handlers never throw or reject: grpc-js would end the process. */
class MethodCalls {
  readonly #method: ApiMethod;
  readonly #wire: WireMethod;
  readonly #options: GrpcServerOptions;
  readonly #principals: Principals;

  constructor(method: ApiMethod, wire: WireMethod, options: GrpcServerOptions, principals: Principals) {
    this.#method = method;
    this.#wire = wire;
    this.#options = options;
    this.#principals = principals;
  }

  readonly unary: handleUnaryCall<Buffer, Message> = (call, respond) => {
    const gone = new Gone(call);
    this.#answer(call.request, this.#frontCall(call, gone))
      .then(
        (response) => {
          gone.forget();
          respond(null, response);
        },
        (error: unknown) => {
          gone.forget();
          respond(toStatus(error));
        },
      )
      .catch((err: unknown) => this.#logUnsent(err));
  };

  readonly stream: handleServerStreamingCall<Buffer, Message> = (call) => {
    this.#pump(call, this.#frontCall(call, new Gone(call)))
      .catch((error: unknown) => {
        if (!call.cancelled) call.emit("error", toStatus(error));
      })
      .catch((err: unknown) => this.#logUnsent(err));
  };

  async #answer(bytes: Buffer, frontCall: FrontCall): Promise<Message> {
    return this.#options.caller.unary(this.#method, this.#wire.decodeRequest(bytes), frontCall);
  }

  async #pump(call: ServerWritableStream<Buffer, Message>, frontCall: FrontCall): Promise<void> {
    const request = this.#wire.decodeRequest(call.request);
    const events = await this.#options.caller.stream(this.#method, request, frontCall);
    call.sendMetadata(new Metadata());
    for await (const event of events) {
      await withinStallTime((done) => call.write(event, done), frontCall.signal);
    }
    call.end();
  }

  #frontCall(call: AnyCall, gone: Gone): FrontCall {
    const deadlineMs = Number(call.getDeadline());
    return {
      front: "grpc",
      // The interceptor lets nothing through that it has not put in.
      principal: this.#principals.get(call.metadata) as Principal,
      deadlineMs: Number.isFinite(deadlineMs) ? deadlineMs : undefined,
      signal: gone.signal,
      header: (name) => headerOf(call.metadata, name),
    };
  }

  #logUnsent(err: unknown): void {
    this.#options.logger.error({ err, method: this.#method.desc.name }, "An answer could not be sent");
  }
}

/** Tells when the client has gone. grpc-js says that a call is cancelled after each good end, too. */
class Gone extends AbortController {
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

/** Looks at the key before the body is read. Health and reflection need none. */
function authenticateFirst({ methods, caller, logger }: GrpcServerOptions, principals: Principals): ServerInterceptor {
  const paths = new Set(methods.map(({ desc }) => `/${desc.parent.typeName}/${desc.name}`));
  return ({ path }, call) => {
    blameClient(call);
    if (!paths.has(path)) return call as ServerInterceptingCall;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            caller
              .authenticate((name) => headerOf(metadata, name))
              .then(
                (principal) => {
                  principals.set(metadata, principal);
                  proceed(metadata);
                },
                (error: unknown) => call.sendStatus(toStatus(error)),
              )
              .catch((err: unknown) => logger.error({ err }, "A call could not be begun"));
          },
        }),
    });
  };
}

/** What grpc-js itself answers with `internal`, though the client sent it. */
const CLIENT_FAULTS = /^(Failed to decompress message|Invalid grpc-timeout value)/;

function blameClient(call: { sendStatus: ServerInterceptingCall["sendStatus"] }): void {
  const send = call.sendStatus;
  call.sendStatus = function (answer) {
    const isClientFault = answer.code === status.INTERNAL && CLIENT_FAULTS.test(String(answer.details));
    send.call(this, isClientFault ? { ...answer, code: status.INVALID_ARGUMENT } : answer);
  };
}

function headerOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
}

/** grpc-js ends the process over a text with half a surrogate pair. */
function toStatus(error: unknown): Status {
  const { code, message } = answerOf(error);
  return { code: code as number, details: Buffer.from(message).toString() };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
