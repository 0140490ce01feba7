import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  Server,
  ServerWritableStream,
} from "@grpc/grpc-js";
import {
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  Health as HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../../gen/grpc/health/v1/health_pb.js";
import { ApiError, invalidArgument } from "../../api/api-error.js";
import type { OpenMethod } from "./gate.js";
import { toStatus } from "./status.js";

type Watcher = ServerWritableStream<Buffer, Buffer>;

const CHECK = `/${HealthService.typeName}/Check`;
const WATCH = `/${HealthService.typeName}/Watch`;
/** No service has a longer name. */
const MAX_BYTES = 1024;

/**
 * `grpc.health.v1`: one state for the server (the empty name) and one for each of its services. Other names are not
 * stored.
 */
export class Health {
  readonly #names: ReadonlySet<string>;
  readonly #watchers = new Set<Watcher>();
  #serving = false;

  constructor(serviceNames: readonly string[]) {
    this.#names = new Set(["", ...serviceNames]);
  }

  /** The methods that the gate admits without a key. */
  static readonly openMethods: ReadonlyMap<string, OpenMethod> = new Map([
    [CHECK, { kind: "call", maxBytes: MAX_BYTES }],
    [WATCH, { kind: "stream", maxBytes: MAX_BYTES }],
  ]);

  addTo(server: Pick<Server, "addService">): void {
    const definition = { [CHECK]: definitionOf(CHECK, false), [WATCH]: definitionOf(WATCH, true) };
    server.addService(definition, { [CHECK]: this.#check, [WATCH]: this.#watch });
  }

  setServing(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const watcher of this.#watchers) watcher.write(this.#answer());
  }

  readonly #check: handleUnaryCall<Buffer, Buffer> = (call, respond) => {
    try {
      const name = readName(call.request);
      if (!this.#names.has(name)) throw new ApiError(Code.NotFound, "The server has no such service");
      respond(null, this.#answer());
    } catch (error) {
      respond(toStatus(error));
    }
  };

  /**
   * As the protocol demands, a watch of an unknown service stays open: its client is told that the service is unknown,
   * and nothing more.
   */
  readonly #watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    try {
      const name = readName(call.request);
      if (!this.#names.has(name)) {
        call.write(encode(ServingStatus.SERVICE_UNKNOWN));
        return;
      }
      this.#watchers.add(call);
      call.once("cancelled", () => this.#watchers.delete(call));
      call.write(this.#answer());
    } catch (error) {
      call.emit("error", toStatus(error));
    }
  };

  #answer(): Buffer {
    return encode(this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  }
}

function readName(request: Buffer): string {
  try {
    return fromBinary(HealthCheckRequestSchema, request).service;
  } catch (cause) {
    throw invalidArgument("The request is not valid protobuf", { cause });
  }
}

function encode(servingStatus: ServingStatus): Buffer {
  return Buffer.from(toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status: servingStatus })));
}

function definitionOf(path: string, responseStream: boolean): MethodDefinition<Buffer, Buffer> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}
