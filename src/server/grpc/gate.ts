import type { ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import type { Admission, AdmissionKind } from "../limits/admissions.js";
import { ApiCall, type ApiRoute } from "./api-call.js";
import type { InterceptedCall } from "./call-hooks.js";
import { GatedCall, type GateOptions } from "./gated-call.js";
import { UploadCall } from "./upload-call.js";

/** A method that needs no key, by its path. */
export interface OpenMethod {
  readonly kind: AdmissionKind;
  /** The most bytes of all its requests together. */
  readonly maxBytes: number;
  /** After this time its stream is closed, even if somebody still reads or writes. */
  readonly lifetimeMs?: number;
}

/** Answers the calls of the API, and lets those of methods that need no key through to their handlers. */
export function makeGate(
  routes: ReadonlyMap<string, ApiRoute>,
  openMethods: ReadonlyMap<string, OpenMethod>,
  options: GateOptions,
): ServerInterceptor {
  return ({ path, responseSerialize }, call) => {
    const route = routes.get(path);
    // grpc-js starts the call at once, and asks for nothing else before it has told of something.
    if (route !== undefined) {
      const Call = route.method.upload === undefined ? ApiCall : UploadCall;
      return new Call(call, options, route) as unknown as ServerInterceptingCall;
    }
    const open = new OpenCall(call, options, path, openMethods.get(path));
    return new ServerInterceptingCall(call as ServerInterceptingCall, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, proceed) => open.pass(() => proceed(metadata)),
        });
      },
      sendMessage: (message, next) => {
        open.sendCounted(
          () => responseSerialize(message).length,
          () => next(message),
        );
      },
    });
  };
}

/** A call of a method that needs no key, or that the server does not have. */
class OpenCall extends GatedCall {
  readonly #path: string;
  readonly #method: OpenMethod | undefined;
  #onAdmitted: (() => void) | undefined;

  constructor(call: InterceptedCall, options: GateOptions, path: string, method: OpenMethod | undefined) {
    const maxBytes = method?.maxBytes ?? options.maxBytes;
    super(call, options, { maxBytes, timeoutMs: options.serverLimits.bodyTimeoutMs, isSingle: false });
    this.#path = path;
    this.#method = method;
  }

  pass(onAdmitted: () => void): void {
    this.#onAdmitted = onAdmitted;
    this.begin();
  }

  protected override proceed(): void {
    if (this.#method?.lifetimeMs !== undefined) closeAfter(this.stream, this.#method.lifetimeMs);
    this.#onAdmitted?.();
  }

  /** The API's calls count their own answers. */
  sendCounted(measure: () => number, send: () => void): void {
    try {
      this.admission.hold(measure());
      send();
    } catch (error) {
      this.refuse(error);
    }
  }

  protected override authenticate(): undefined {
    return undefined;
  }

  protected override admit(): Admission {
    if (this.#method === undefined) {
      // A query may hold a ticket.
      throw new ApiError(Code.Unimplemented, `No such RPC: ${this.#path.replace(/\?.*/s, "")}`);
    }
    return this.options.pipeline.admitAnyone(this.#method.kind, this.connection);
  }
}

function closeAfter(stream: ServerHttp2Stream, lifetimeMs: number): void {
  const timer = setTimeout(() => stream.close(), lifetimeMs).unref();
  stream.once("close", () => clearTimeout(timer));
}
