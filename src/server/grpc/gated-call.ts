import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { ServerLimits } from "../../config/config.js";
import type { Principal, RequestFacts } from "../auth/principal.js";
import type { CallPipeline } from "../call/front-call.js";
import { type HostCheck, notServed } from "../http/hosts.js";
import { REQUEST_ID, requestIdFrom } from "../http/request-facts.js";
import type { Admission } from "../limits/admissions.js";
import { bodyTooLarge, bodyTooSlow, severalMessages } from "../limits/body-errors.js";
import type { Connection } from "../limits/connections.js";
import { ownMemory, ownWaitingChunks } from "../limits/own-chunks.js";
import type { Logger } from "../logging.js";
import { headersOf } from "./adjust-headers.js";
import { type BaseCall, type CallHooks, hookCall, type InterceptedCall } from "./call-hooks.js";
import { checkCompression, messageIn, refusal } from "./decompression.js";
import { checkMarkedHeaders } from "./header-limit.js";
import { peerOf } from "./sessions.js";
import { toStatus } from "./status.js";
import { checkWithheldTimeout } from "./timeouts.js";

export interface GateOptions {
  readonly pipeline: CallPipeline;
  readonly serverLimits: ServerLimits;
  readonly isServedHost: HostCheck;
  /** The most bytes of one request of the API with its frame. */
  readonly maxBytes: number;
  readonly logger: Logger;
}

/** What a client may send on a stream. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** How long the body may take to arrive, or how long it may pause if it is an upload. */
  readonly timeoutMs: number;
  /** Whether it may send one message only. */
  readonly isSingle: boolean;
}

/**
 * One call: its host, key, scope and limits are checked before its body is read, and its body while it arrives. It is a
 * single object, because a small call notices each further object and closure.
 */
export abstract class GatedCall implements RequestFacts, CallHooks {
  readonly requestId: string;
  readonly connection: Connection | undefined;
  readonly stream: ServerHttp2Stream;
  isNamed = false;
  protected readonly base: BaseCall;
  protected readonly options: GateOptions;
  protected readonly limits: BodyLimits;
  /** Of all messages, or of those of an upload that were not taken yet. */
  protected receivedBytes = 0;
  protected bodyTimer: NodeJS.Timeout | undefined;
  readonly #headers: IncomingHttpHeaders;
  readonly #address: string;
  #admission: Admission | undefined;
  #messages = 0;

  constructor(call: InterceptedCall, options: GateOptions, limits: BodyLimits) {
    this.options = options;
    this.limits = limits;
    this.base = hookCall(call, this);
    this.stream = this.base.stream;
    ownWaitingChunks(this.stream);
    this.#headers = headersOf(this.stream);
    this.requestId = requestIdFrom(this.header(REQUEST_ID));
    const { connection, address } = peerOf(this.stream);
    this.connection = connection;
    this.#address = address;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "string" ? value : undefined;
  }

  peer(): string {
    return this.#address;
  }

  /** The place of the call, once it has been admitted. */
  get admission(): Admission {
    return this.#admission!;
  }

  /** The caller; undefined for a method that needs no key. */
  protected abstract authenticate(): Promise<Principal> | Principal | undefined;

  protected abstract admit(principal: Principal | undefined): Admission;

  /** Called when the call has been admitted and its body is guarded. */
  protected abstract proceed(): void;

  /** Admits the call, or refuses it with an error. Does so at once where no keys are needed. */
  protected begin(): void {
    try {
      checkMarkedHeaders(this.stream);
      const host = this.base.getHost();
      if (!this.options.isServedHost(host)) this.#refuseHost(host);
      checkWithheldTimeout(this.stream);
      checkCompression(this.header("grpc-encoding"));
      const caller = this.authenticate();
      if (caller instanceof Promise) caller.then((one) => this.#enter(one)).catch((error) => this.refuse(error));
      else this.#enter(caller);
    } catch (error) {
      this.refuse(error);
    }
  }

  #refuseHost(host: string): never {
    const error = new ApiError(Code.PermissionDenied, notServed(host));
    this.options.pipeline.refused(this, error);
    throw error;
  }

  #enter(principal: Principal | undefined): void {
    this.#admission = this.admit(principal);
    this.bodyTimer = setTimeout(refuseSlow, this.limits.timeoutMs, this);
    if (this.stream.destroyed) this.onClose();
    else this.stream.once("close", () => this.onClose());
    this.proceed();
  }

  /** Counts what the client sends while grpc-js collects and keeps it, until the message is complete. */
  takeChunk(chunk: Buffer): Buffer | undefined {
    if (this.bodyTimer === undefined) return undefined;
    this.receivedBytes += chunk.length;
    const { maxBytes } = this.limits;
    try {
      if (this.receivedBytes > maxBytes) throw bodyTooLarge(maxBytes);
      this.admission.holdChunk(chunk);
      return ownMemory(chunk);
    } catch (error) {
      this.endBody();
      this.refuse(error);
      return undefined;
    }
  }

  endBody(): void {
    clearTimeout(this.bodyTimer);
    this.bodyTimer = undefined;
  }

  refuseSlowBody(): void {
    this.endBody();
    this.refuse(bodyTooSlow(this.limits.timeoutMs));
  }

  decompress(frame: Buffer, encoding: string): Promise<Buffer> | Buffer {
    const { maxBytes, isSingle } = this.limits;
    this.#messages += 1;
    try {
      if (isSingle && this.#messages > 1) throw severalMessages();
      const message = messageIn(frame, encoding, { admission: this.admission, limitBytes: maxBytes });
      return Buffer.isBuffer(message) ? message : message.catch((error: unknown) => this.#refuseFrame(error));
    } catch (error) {
      return this.#refuseFrame(error);
    }
  }

  /** grpc-js sends the status that the message is rejected with. */
  #refuseFrame(error: unknown): Promise<never> {
    this.#stopReading();
    return Promise.reject(toStatus(error));
  }

  /** Must never throw, because grpc-js would end the process. */
  protected refuse(error: unknown): void {
    try {
      this.base.sendStatus(refusal(error));
    } catch (err) {
      this.options.logger.error({ err }, "A refusal could not be sent");
    }
    this.#stopReading();
  }

  /** Called once, when the client has the answer or has gone. */
  protected onClose(): void {
    this.endBody();
    this.admission.end();
  }

  /** Called before or after the answer, because grpc-js itself would keep the stream open until its client ends it. */
  #stopReading(): void {
    setImmediate(() => {
      if (!this.stream.destroyed) this.stream.close();
    });
  }
}

function refuseSlow(call: GatedCall): void {
  call.refuseSlowBody();
}
