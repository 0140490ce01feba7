import type { ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { type Metadata, ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { ServerLimits } from "../../config/config.js";
import type { Principal, RequestFacts } from "../auth/principal.js";
import type { CallPipeline } from "../call/front-call.js";
import { type HostCheck, notServed } from "../http/hosts.js";
import { REQUEST_ID, requestIdFrom } from "../http/request-facts.js";
import type { Admission, AdmissionKind } from "../limits/admissions.js";
import type { Connection } from "../limits/connections.js";
import { ownChunks } from "../limits/own-chunks.js";
import type { Logger } from "../logging.js";
import { guardBody } from "./body-guard.js";
import { adjustAnswers, type CallAnswers, type InterceptedCall } from "./call-answers.js";
import { limitDecompression } from "./decompression.js";
import { checkMarkedHeaders } from "./header-limit.js";
import { headerOf, toStatus } from "./status.js";
import { checkWithheldTimeout } from "./timeouts.js";

/** A method that needs no key, by its path. */
export interface OpenMethod {
  readonly kind: AdmissionKind;
  /** The most bytes of all its requests together. */
  readonly maxBytes: number;
  /** After this time its stream is closed, even if somebody still reads or writes. */
  readonly lifetimeMs?: number;
}

export interface GateOptions {
  readonly methods: readonly ApiMethod[];
  readonly openMethods: ReadonlyMap<string, OpenMethod>;
  readonly pipeline: CallPipeline;
  readonly serverLimits: ServerLimits;
  readonly isServedHost: HostCheck;
  /** The most bytes of one request with its frame. */
  readonly maxBytes: number;
  readonly connectionAt: (peer: string) => Connection | undefined;
  readonly logger: Logger;
}

/** A request that was admitted. */
export interface Admitted {
  /** Undefined for methods that need no key. */
  readonly principal: Principal | undefined;
  readonly connection: Connection | undefined;
  readonly facts: RequestFacts;
  readonly admission: Admission;
  readonly stream: ServerHttp2Stream;
}

/**
 * Where the gate leaves an admitted request for the handler: on the metadata object, which grpc-js passes on. A WeakMap
 * that gets an entry for each call would cost more than anything else a call does, because collecting the garbage of
 * such a map takes long.
 */
const ADMITTED = Symbol("admitted");

type PassedMetadata = Metadata & { [ADMITTED]?: Admitted };

/** The admitted request that this metadata belongs to. */
export function admittedOf(metadata: PassedMetadata): Admitted {
  const admitted = metadata[ADMITTED];
  if (admitted === undefined) throw new Error("The gate lets only calls through that it has admitted");
  return admitted;
}

/** Checks the host, the key, the scope and the limits before the body is read, and the body while it arrives. */
export function makeGate(options: GateOptions): ServerInterceptor {
  const methods = new Map(
    options.methods.map((method) => [`/${method.desc.parent.typeName}/${method.desc.name}`, method]),
  );
  return ({ path, responseSerialize }, call) => {
    const open = options.openMethods.get(path);
    const gated = new GatedCall(options, call, { path, method: methods.get(path), open });
    return new ServerInterceptingCall(call as ServerInterceptingCall, {
      ...(open !== undefined && {
        sendMessage: (message, next) =>
          gated.sendCounted(
            () => responseSerialize(message).length,
            () => next(message),
          ),
      }),
      start: (next) =>
        next({
          onReceiveMetadata: (metadata: PassedMetadata, proceed) => {
            gated
              .begin(metadata, (call) => {
                metadata[ADMITTED] = call;
                proceed(metadata);
              })
              .catch((err: unknown) => options.logger.error({ err }, "A call could not be begun"));
          },
        }),
    });
  };
}

/** The purpose of a call: a method of the API, one that needs no key, or neither. */
interface Destination {
  readonly path: string;
  readonly method: ApiMethod | undefined;
  readonly open: OpenMethod | undefined;
}

/** One call that is being admitted. */
class GatedCall {
  readonly #options: GateOptions;
  readonly #call: InterceptedCall;
  readonly #destination: Destination;
  readonly #stream: ServerHttp2Stream;
  readonly #answers: CallAnswers;
  #admission: Admission | undefined;

  constructor(options: GateOptions, call: InterceptedCall, destination: Destination) {
    this.#options = options;
    this.#call = call;
    this.#destination = destination;
    this.#stream = streamOf(call);
    ownChunks(this.#stream);
    this.#answers = adjustAnswers(call);
  }

  /** Admits the call and then guards its body, or refuses it with an error. */
  async begin(metadata: Metadata, proceed: (call: Admitted) => void): Promise<void> {
    const { open } = this.#destination;
    let call: Admitted;
    try {
      call = await this.#admit(metadata);
    } catch (error) {
      return this.#refuse(error);
    }
    this.#admission = call.admission;
    if (open?.lifetimeMs !== undefined) closeAfter(this.#stream, open.lifetimeMs);
    const maxBytes = open?.maxBytes ?? this.#options.maxBytes;
    limitDecompression(this.#call, {
      admission: call.admission,
      limitBytes: maxBytes,
      isSingle: open === undefined,
      onRefused: () => this.#stopReading(),
    });
    guardBody(this.#stream, call.admission, {
      maxBytes,
      timeoutMs: this.#options.serverLimits.bodyTimeoutMs,
      refuse: (error) => this.#refuse(error),
    });
    proceed(call);
  }

  /** The API's handlers count their own answers. */
  sendCounted(measure: () => number, send: () => void): void {
    try {
      this.#admission?.hold(measure());
      send();
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #admit(metadata: Metadata): Promise<Admitted> {
    const { pipeline, isServedHost, connectionAt } = this.#options;
    const { path, method, open } = this.#destination;
    const [host, peer] = [this.#call.getHost(), this.#call.getPeer()];
    const requestId = requestIdFrom(headerOf(metadata, REQUEST_ID));
    this.#answers.requestId = requestId;
    checkMarkedHeaders(this.#stream);
    if (!isServedHost(host)) throw new ApiError(Code.PermissionDenied, notServed(host));
    checkWithheldTimeout(this.#stream);
    const facts: RequestFacts = {
      requestId,
      header: (name) => headerOf(metadata, name),
      peer: () => withoutPort(peer),
    };
    const connection = connectionAt(peer);
    const stream = this.#stream;
    if (method !== undefined) {
      const principal = await pipeline.authenticate(facts);
      const admission = pipeline.admit(method, { front: "grpc", principal, facts, connection });
      return { facts, connection, stream, principal, admission };
    }
    if (open === undefined) throw new ApiError(Code.Unimplemented, `No such RPC: ${path}`);
    const admission = pipeline.admitAnyone(open.kind, connection);
    return { facts, connection, stream, principal: undefined, admission };
  }

  #refuse(error: unknown): void {
    this.#call.sendStatus(toStatus(error));
    this.#stopReading();
  }

  /** Called after the answer, because grpc-js itself would keep the stream open until its client ends it. */
  #stopReading(): void {
    setImmediate(() => {
      if (!this.#stream.destroyed) this.#stream.close();
    });
  }
}

function withoutPort(peer: string): string {
  return peer.replace(/:\d+$/, "");
}

function closeAfter(stream: ServerHttp2Stream, lifetimeMs: number): void {
  const timer = setTimeout(() => stream.close(), lifetimeMs).unref();
  stream.once("close", () => clearTimeout(timer));
}

/** grpc-js keeps the stream private, but nothing else tells how many bytes of an incomplete message have come. */
function streamOf(call: InterceptedCall): ServerHttp2Stream {
  const { stream } = call as unknown as { readonly stream?: ServerHttp2Stream };
  if (stream === undefined) throw new Error("grpc-js does not tell the stream of a call");
  return stream;
}
