import type { ServerLimits } from "../../config/config.js";
import type { Admission } from "../limits/admissions.js";
import { clientGone, pausedTooLong } from "../limits/body-errors.js";
import { longestPauseMs } from "../limits/stall.js";
import { checkTransferCoding } from "./body.js";
import { type HttpRequest, isGone } from "./exchange.js";
import { problemOf } from "./problem.js";

interface Waiting {
  readonly resolve: (result: IteratorResult<Buffer>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorResult<Buffer> = { done: true, value: undefined };

/** The HTTP/1.1 connections and HTTP/2 streams whose body is being read in chunks. */
const inUse = new WeakSet<object>();

/** Whether the body that arrives there may take any time, because its pauses are limited instead. */
export function mayLast(carrier: object): boolean {
  return inUse.has(carrier);
}

/**
 * The bytes of a request's body as they arrive, for bodies that may be long. Nothing is read ahead of who takes the
 * chunks, beyond what Node does. A body that pauses for too long ends with `deadline_exceeded`, and one whose client
 * goes with `canceled`; one that may take any time otherwise. Who takes no more chunks calls `return`.
 */
export class BodyChunks implements AsyncIterableIterator<Buffer> {
  readonly #request: HttpRequest;
  readonly #limits: ServerLimits;
  readonly #admission: Admission;
  #waiting: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The bytes of the chunk that was taken last. */
  #held = 0;
  #end: "normal" | Error | undefined;

  constructor(request: HttpRequest, limits: ServerLimits, admission: Admission) {
    checkTransferCoding(request.headers["transfer-encoding"]);
    this.#request = request;
    this.#limits = limits;
    this.#admission = admission;
    // A request that is closed already emits no further event.
    if (isGone(request)) this.#end = clientGone();
    else inUse.add(carrierOf(request));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Buffer>> {
    this.#hold(0);
    if (this.#end !== undefined) {
      return this.#end === "normal" ? Promise.resolve(DONE) : Promise.reject(this.#end);
    }
    return new Promise((resolve, reject) => {
      const isFirst = this.#timer === undefined;
      this.#waiting = { resolve, reject };
      const pauseMs = longestPauseMs(this.#limits);
      this.#timer = setTimeout(() => this.#stop(problemOf(pausedTooLong(pauseMs), 408)), pauseMs);
      if (isFirst) this.#request.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
      this.#request.resume();
    });
  }

  return(): Promise<IteratorResult<Buffer>> {
    this.#stop("normal");
    return Promise.resolve(DONE);
  }

  readonly #onData = (chunk: Buffer): void => {
    clearTimeout(this.#timer);
    this.#request.pause();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    try {
      this.#hold(chunk.length);
      waiting?.resolve({ done: false, value: chunk });
    } catch (error) {
      this.#waiting = waiting;
      this.#stop(error as Error);
    }
  };

  /** A stream whose client has reset it ends like one that is complete. */
  readonly #onEnd = (): void => this.#stop(isGone(this.#request) ? clientGone() : "normal");

  readonly #onClose = (): void => this.#stop(clientGone());

  /** Counts the bytes of a chunk instead of those of the one before. */
  #hold(bytes: number): void {
    this.#admission.release(this.#held);
    this.#held = 0;
    this.#admission.hold(bytes);
    this.#held = bytes;
  }

  #stop(end: "normal" | Error): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const request = this.#request;
    clearTimeout(this.#timer);
    request.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    inUse.delete(carrierOf(request));
    this.#hold(0);
    if (!request.complete && !isGone(request)) this.#endUnfinished();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (end === "normal") waiting?.resolve(DONE);
    else waiting?.reject(end);
  }

  /** What still arrives is thrown away for as long as another body may take; by then the client has its answer. */
  #endUnfinished(): void {
    const request = this.#request;
    const timer = setTimeout(() => {
      if (!request.complete) request.destroy();
    }, this.#limits.bodyTimeoutMs).unref();
    request.once("close", () => clearTimeout(timer));
    request.resume();
  }
}

function carrierOf(request: HttpRequest): object {
  return "stream" in request ? request.stream : request.socket;
}
