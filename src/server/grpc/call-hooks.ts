import type { ServerHttp2Stream } from "node:http2";
import { Metadata, type ServerInterceptor, status } from "@grpc/grpc-js";
import { REQUEST_ID } from "../http/request-facts.js";

/** What grpc-js asks and tells about a call. */
export interface CallHooks {
  readonly requestId: string;
  /** Whether an answer has named the request. */
  isNamed: boolean;
  /** Gets each chunk of the body; returns what grpc-js shall read and may keep, if anything. */
  takeChunk(chunk: Buffer): Buffer | undefined;
  /** Called when the body is complete. */
  endBody(): void;
  /** The message in a frame. What it rejects with is sent as the status. */
  decompress(frame: Buffer, encoding: string): Promise<Buffer> | Buffer;
}

export type InterceptedCall = Parameters<ServerInterceptor>[1];

const HOOKS = Symbol("hooks");

/** A call as grpc-js makes it, with what it keeps private. */
export interface BaseCall extends InterceptedCall {
  readonly stream: ServerHttp2Stream;
  handleDataFrame(chunk: Buffer): void;
  handleEndEvent(): void;
  /** `encoding` is `identity` for a message that is not compressed. */
  decompressMessage(frame: Buffer, encoding: string): Promise<Buffer> | Buffer;
  [HOOKS]?: CallHooks;
}

const REPLACED = ["sendMetadata", "sendStatus", "handleDataFrame", "handleEndEvent", "decompressMessage"] as const;

/** The class of calls whose methods have been replaced. */
let hooked: object | undefined;

/**
 * Puts hooks into a call of grpc-js: its body is guarded, and all answers, including those of grpc-js itself, name the
 * request once.
 *
 * The methods are replaced for all calls at once, because giving each call its own costs a sixth of a small call.
 */
export function hookCall(call: InterceptedCall, hooks: CallHooks): BaseCall {
  const base = call as BaseCall;
  const prototype = Object.getPrototypeOf(base) as BaseCall;
  if (hooked !== prototype) replaceMethods(prototype);
  hooked = prototype;
  base[HOOKS] = hooks;
  return base;
}

/** Calls without hooks belong to other servers of the process. */
function replaceMethods(prototype: BaseCall): void {
  for (const name of REPLACED) {
    if (typeof prototype[name] !== "function") throw new Error(`The calls of grpc-js have no method ${name}`);
  }
  const { sendMetadata, sendStatus, handleDataFrame, handleEndEvent, decompressMessage } = prototype;
  prototype.sendMetadata = function (metadata) {
    const hooks = this[HOOKS];
    if (hooks !== undefined) nameRequest(hooks, metadata);
    sendMetadata.call(this, metadata);
  };
  prototype.sendStatus = function (answer) {
    const hooks = this[HOOKS];
    if (hooks === undefined) return sendStatus.call(this, answer);
    const { code } = answer;
    // grpc-js would send the text "OK" with success, for which gRPC has no text.
    const details = code === status.OK ? "" : answer.details;
    const metadata = answer.metadata ?? (hooks.isNamed ? null : new Metadata());
    if (metadata !== null) nameRequest(hooks, metadata);
    sendStatus.call(this, { code, details, metadata });
  };
  prototype.handleDataFrame = function (chunk) {
    const hooks = this[HOOKS];
    const taken = hooks === undefined ? chunk : hooks.takeChunk(chunk);
    if (taken !== undefined) handleDataFrame.call(this, taken);
  };
  prototype.handleEndEvent = function () {
    this[HOOKS]?.endBody();
    handleEndEvent.call(this);
  };
  prototype.decompressMessage = function (frame, encoding) {
    const hooks = this[HOOKS];
    if (hooks === undefined) return decompressMessage.call(this, frame, encoding);
    return hooks.decompress(frame, encoding);
  };
}

function nameRequest(hooks: CallHooks, metadata: Metadata): void {
  if (!hooks.isNamed) metadata.set(REQUEST_ID, hooks.requestId);
  hooks.isNamed = true;
}
