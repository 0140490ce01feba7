import { constants, type ServerHttp2Stream } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Metadata, status } from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { WireMethod } from "../../codec/binary-codec.js";
import type { Principal } from "../auth/principal.js";
import { CallSignal } from "../call/call-signal.js";
import type { FrontCall } from "../call/front-call.js";
import type { Admission } from "../limits/admissions.js";
import { noMessage } from "../limits/body-errors.js";
import { STALL_MS, withinStallTime } from "../limits/stall.js";
import type { InterceptedCall } from "./call-hooks.js";
import { type BodyLimits, GatedCall, type GateOptions } from "./gated-call.js";
import { toStatus } from "./status.js";

/** A method of the API and its wire format. */
export interface ApiRoute {
  readonly method: ApiMethod;
  readonly wire: WireMethod;
}

const OK = { code: status.OK, details: "", metadata: null };

/** Made only once, because making an error each time would cost more than the rest of an abort. */
const CLIENT_GONE = new ApiError(Code.Canceled, "The call was canceled");

/**
 * A call of the API. It takes what grpc-js tells about the call without the handlers of grpc-js, each of which makes a
 * stream for every call, and answers a message and its status in one go.
 */
export class ApiCall extends GatedCall implements FrontCall {
  readonly front = "grpc";
  readonly deadlineMs: number | undefined;
  readonly signal = new CallSignal();
  protected readonly route: ApiRoute;
  protected isAnswered = false;
  #principal: Principal | undefined;
  #request: Buffer | undefined;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(call: InterceptedCall, options: GateOptions, route: ApiRoute, limits = limitsOf(options)) {
    super(call, options, limits);
    this.route = route;
    const deadlineMs = Number(call.getDeadline());
    this.deadlineMs = Number.isFinite(deadlineMs) ? deadlineMs : undefined;
  }

  get principal(): Principal {
    return this.#principal!;
  }

  get facts(): this {
    return this;
  }

  start(): void {
    this.base.start(this);
  }

  onReceiveMetadata(): void {
    this.begin();
  }

  onReceiveMessage(message: Buffer): void {
    this.#request = message;
    this.base.startRead();
  }

  onReceiveHalfClose(): void {
    this.answering(this.#run());
  }

  /** Answers with the error that the work ends with, if any. */
  protected answering(work: Promise<void>): void {
    work.catch((error: unknown) => this.fail(error)).catch((err: unknown) => this.#logUnsent(err));
  }

  #run(): Promise<void> {
    const request = this.#request;
    if (request === undefined) return Promise.reject(noMessage());
    if (this.route.method.stream !== undefined) return this.#pump(request);
    return this.answer(() => this.options.pipeline.unary(this.route.method, this.decode(request), this));
  }

  /** grpc-js also reports a call as cancelled after each normal end. */
  onCancel(): void {
    if (!this.isAnswered) this.signal.abort(CLIENT_GONE);
  }

  protected override authenticate(): Promise<Principal> | Principal {
    return this.options.pipeline.authenticate(this);
  }

  protected override proceed(): void {
    this.base.startRead();
  }

  protected override admit(principal: Principal): Admission {
    this.#principal = principal;
    return this.options.pipeline.admit(this.route.method, this);
  }

  protected override onClose(): void {
    super.onClose();
    clearTimeout(this.#unreadTimer);
  }

  /** A request that cannot be decoded is an error of the promise, too. */
  protected async answer(ask: () => Promise<Message>): Promise<void> {
    const bytes = this.#encode(await ask());
    this.isAnswered = true;
    this.base.sendMessage(bytes, ignore);
    this.#end(OK);
    endWithMessage(this.stream);
  }

  async #pump(request: Buffer): Promise<void> {
    const events = await this.options.pipeline.stream(this.route.method, this.decode(request), this);
    this.base.sendMetadata(new Metadata());
    for await (const event of events) {
      const bytes = this.#encode(event);
      await withinStallTime((done) => this.base.sendMessage(bytes, done), this.signal);
      this.admission.release(bytes.length);
    }
    this.#end(OK);
  }

  protected decode(request: Buffer): Message {
    return this.route.wire.decodeRequest(request, this.admission);
  }

  /** Encodes a message, and counts its bytes until it has been sent. */
  #encode(message: Message): Buffer {
    const bytes = asBuffer(this.route.wire.encodeResponse(message));
    this.admission.hold(bytes.length);
    return bytes;
  }

  protected fail(error: unknown): void {
    this.#end(toStatus(error));
  }

  /** Sends the status, and ends the stream of a client that leaves its answer unread. */
  #end(answer: Parameters<InterceptedCall["sendStatus"]>[0]): void {
    this.isAnswered = true;
    this.base.sendStatus(answer);
    if (this.stream.destroyed) return;
    this.#unreadTimer = setTimeout(() => this.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), STALL_MS).unref();
  }

  #logUnsent(err: unknown): void {
    this.options.logger.error({ err, method: this.route.method.desc.name }, "An answer could not be sent");
  }
}

function limitsOf({ maxBytes, serverLimits }: GateOptions): BodyLimits {
  return { maxBytes, timeoutMs: serverLimits.bodyTimeoutMs, isSingle: true };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Has Node send the end of the data with the data. By itself it waits until the data has been sent, if trailers are to
 * follow, and then sends an empty frame in a later iteration. Must be called after `end`, in the same one.
 */
function endWithMessage(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream._final(ignore);
}

function ignore(): void {}
