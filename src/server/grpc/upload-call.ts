import type { Message } from "@bufbuild/protobuf";
import { transferBytes } from "../limits/admissions.js";
import { clientGone, cutOff, noMessage, pausedTooLong } from "../limits/body-errors.js";
import { CHUNK_BYTES } from "../limits/own-chunks.js";
import { longestPauseMs } from "../limits/stall.js";
import { ApiCall, type ApiRoute } from "./api-call.js";
import type { InterceptedCall } from "./call-hooks.js";
import { messageIn } from "./decompression.js";
import type { GateOptions } from "./gated-call.js";

interface Waiting {
  readonly resolve: (result: IteratorResult<Message>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorResult<Message> = { done: true, value: undefined };

/**
 * A call with a stream of the client. It asks grpc-js for the next message when the implementation does, and grpc-js
 * reads nothing before that, so that one message is in memory and what Node has read of those after it. Limits of size
 * hold for each message, and those of time for pauses.
 */
export class UploadCall extends ApiCall {
  #hasBegun = false;
  #waiting: Waiting | undefined;
  /** How the client's stream has ended. */
  #ended: "whole" | { readonly error: unknown } | undefined;
  #lastChunkBytes = 0;
  /** How many bytes have arrived of a message that is not complete. */
  #arrivedBytes = 0;
  /** What the upload takes besides its messages. */
  #ownBytes = 0;
  /** Whether the next message was asked for and has not arrived yet. */
  #isWanted = false;
  /** Each decompresses a message that has arrived before it was asked for. */
  readonly #early: (() => void)[] = [];

  constructor(call: InterceptedCall, options: GateOptions, route: ApiRoute) {
    const { maxBytes, serverLimits } = options;
    super(call, options, route, { maxBytes, timeoutMs: longestPauseMs(serverLimits), isSingle: false });
  }

  override onReceiveMessage(message: Buffer): void {
    if (this.#hasBegun) this.#pass(message);
    else this.#begin(message);
  }

  /** grpc-js drops a message that the client has not sent to its end. */
  override onReceiveHalfClose(): void {
    if (this.#arrivedBytes > 0) this.refuse(cutOff());
    else {
      this.#ended = "whole";
      if (this.#hasBegun) this.#takeWaiting()?.resolve(DONE);
      else this.fail(noMessage());
    }
  }

  override onCancel(): void {
    super.onCancel();
    this.#breakOff(clientGone());
  }

  override takeChunk(chunk: Buffer): Buffer | undefined {
    this.bodyTimer?.refresh();
    this.#lastChunkBytes = chunk.length + CHUNK_BYTES;
    this.#arrivedBytes += chunk.length;
    return super.takeChunk(chunk);
  }

  /** Messages that arrive together wait as they are, because they may be much larger once decompressed. */
  override async decompress(frame: Buffer, encoding: string): Promise<Buffer> {
    this.receivedBytes = 0;
    this.#arrivedBytes -= frame.length;
    if (this.#isWanted) this.#isWanted = false;
    else await new Promise<void>((resolve) => this.#early.push(resolve));
    try {
      return await messageIn(frame, encoding, { admission: this.admission, limitBytes: this.limits.maxBytes });
    } catch (error) {
      this.refuse(error);
      // The answer is on its way, and grpc-js is not to send another one.
      return new Promise<never>(() => {});
    }
  }

  override refuseSlowBody(): void {
    // Nothing is read while the service is at work, so the client does not pause.
    if (this.#hasBegun && this.#waiting === undefined) return;
    this.refuse(pausedTooLong(this.limits.timeoutMs));
  }

  protected override proceed(): void {
    this.#read();
  }

  /** An upload that has begun ends with the error, which is then its answer. */
  protected override refuse(error: unknown): void {
    if (this.#hasBegun && !this.isAnswered) this.#breakOff(error);
    else super.refuse(error);
  }

  /** What the client would still send is not read. */
  protected override fail(error: unknown): void {
    if (this.#ended === "whole") super.fail(error);
    else {
      this.isAnswered = true;
      this.#breakOff(error);
      super.refuse(error);
    }
  }

  #begin(message: Buffer): void {
    this.#hasBegun = true;
    try {
      const first = this.decode(message);
      this.#ownBytes = transferBytes((first as { readonly size?: bigint }).size);
      this.admission.hold(this.#ownBytes);
      const rest = { [Symbol.asyncIterator]: () => ({ next: () => this.#next() }) };
      this.answering(this.answer(() => this.options.pipeline.upload(this.route.method, first, rest, this)));
    } catch (error) {
      this.answering(Promise.reject(error));
    }
  }

  #pass(message: Buffer): void {
    try {
      const value = this.decode(message);
      this.#takeWaiting()?.resolve({ done: false, value });
    } catch (error) {
      this.#breakOff(error);
    }
  }

  #next(): Promise<IteratorResult<Message>> {
    if (this.#ended === "whole") return Promise.resolve(DONE);
    if (this.#ended !== undefined) return Promise.reject(this.#ended.error);
    // The last chunk may hold the beginning of what comes next.
    this.admission.releaseTo(this.#ownBytes + this.#lastChunkBytes);
    this.bodyTimer?.refresh();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#read();
    });
  }

  #read(): void {
    const start = this.#early.shift();
    if (start === undefined) this.#isWanted = true;
    else start();
    this.base.startRead();
  }

  #breakOff(error: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    this.endBody();
    this.#takeWaiting()?.reject(error);
  }

  #takeWaiting(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
