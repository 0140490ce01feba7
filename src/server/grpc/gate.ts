import type { ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { type Metadata, ServerInterceptingCall, type ServerInterceptor, status } from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { LoadLimits } from "../../config.js";
import type { Caller } from "../front-call.js";
import { type HostCheck, notServed } from "../hosts.js";
import type { Admission, AdmissionKind } from "../load/admissions.js";
import type { Connection } from "../load/connections.js";
import type { Logger } from "../logging.js";
import type { Principal, RequestFacts } from "../principal.js";
import { type BodyGuard, guardBody } from "./body-guard.js";
import { headerOf, type Status, toStatus } from "./status.js";

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
  readonly caller: Caller;
  readonly load: LoadLimits;
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

/** Admitted requests, by the metadata object that grpc-js passes from the interceptor to the handler. */
export type AdmittedCalls = WeakMap<Metadata, Admitted>;

type InterceptedCall = Parameters<ServerInterceptor>[1];
type Responder = Exclude<ConstructorParameters<typeof ServerInterceptingCall>[1], undefined>;

/** Checks the host, the key, the scope and the limits before the body is read, and the body while it arrives. */
export function makeGate(options: GateOptions, admitted: AdmittedCalls): ServerInterceptor {
  const methods = new Map(
    options.methods.map((method) => [`/${method.desc.parent.typeName}/${method.desc.name}`, method]),
  );
  return ({ path, responseSerialize }, call) => {
    blameClient(call);
    const stream = streamOf(call);
    const method = methods.get(path);
    const open = options.openMethods.get(path);
    const guard: BodyGuard = {
      maxBytes: open?.maxBytes ?? options.maxBytes,
      timeoutMs: options.load.bodyTimeoutMs,
      refuse: (error) => refuse(call, stream, error),
    };
    const admit = async (metadata: Metadata): Promise<Admitted> => {
      if (!options.isServedHost(call.getHost())) throw new ApiError(Code.PermissionDenied, notServed(call.getHost()));
      const connection = options.connectionAt(call.getPeer());
      const facts = { header: (name: string) => headerOf(metadata, name), peer: () => withoutPort(call.getPeer()) };
      if (method === undefined) {
        if (open === undefined) throw new ApiError(Code.Unimplemented, `No such RPC: ${path}`);
        return {
          principal: undefined,
          connection,
          facts,
          stream,
          admission: options.caller.admitAnyone(open.kind, connection),
        };
      }
      const principal = await options.caller.authenticate(facts);
      const admission = options.caller.admit(method, { front: "grpc", principal, facts, connection });
      return { principal, connection, facts, stream, admission };
    };
    /** The API's handlers count their own answers. */
    const countAnswer: Required<Responder>["sendMessage"] = (message, next) => {
      try {
        current?.admission.hold(responseSerialize(message).length);
        next(message);
      } catch (error) {
        refuse(call, stream, error);
      }
    };
    let current: Admitted | undefined;
    return new ServerInterceptingCall(call as ServerInterceptingCall, {
      ...(open !== undefined && { sendMessage: countAnswer }),
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            admit(metadata)
              .then(
                (admittedCall) => {
                  current = admittedCall;
                  admitted.set(metadata, admittedCall);
                  if (open?.lifetimeMs !== undefined) closeAfter(stream, open.lifetimeMs);
                  guardBody(stream, admittedCall.admission, guard);
                  proceed(metadata);
                },
                (error: unknown) => refuse(call, stream, error),
              )
              .catch((err: unknown) => options.logger.error({ err }, "A call could not be begun"));
          },
        }),
    });
  };
}

function withoutPort(peer: string): string {
  return peer.replace(/:\d+$/, "");
}

function closeAfter(stream: ServerHttp2Stream, lifetimeMs: number): void {
  const timer = setTimeout(() => stream.close(), lifetimeMs).unref();
  stream.once("close", () => clearTimeout(timer));
}

/** Answers and stops reading. By itself, grpc-js would keep the stream open until its client ends it. */
function refuse(call: InterceptedCall, stream: ServerHttp2Stream, error: unknown): void {
  const answer: Status = toStatus(error);
  call.sendStatus(answer);
  setImmediate(() => {
    if (!stream.destroyed) stream.close();
  });
}

/** grpc-js keeps the stream private, but nothing else tells how many bytes of an incomplete message have come. */
function streamOf(call: InterceptedCall): ServerHttp2Stream {
  const { stream } = call as unknown as { readonly stream?: ServerHttp2Stream };
  if (stream === undefined) throw new Error("grpc-js does not tell the stream of a call");
  return stream;
}

/** Errors that grpc-js itself answers with `internal` although the client caused them. */
const CLIENT_FAULTS = /^(Failed to decompress message|Invalid grpc-timeout value)/;

function blameClient(call: InterceptedCall): void {
  const send = call.sendStatus;
  call.sendStatus = function (answer) {
    const isClientFault = answer.code === status.INTERNAL && CLIENT_FAULTS.test(String(answer.details));
    send.call(this, isClientFault ? { ...answer, code: status.INVALID_ARGUMENT } : answer);
  };
}
