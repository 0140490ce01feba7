import type { Message } from "@bufbuild/protobuf";

export interface WatchedStreamHooks {
  /** Maps the error with which the implementation or `end` ends the stream. */
  readonly toError: (error: unknown) => unknown;
  /** Called once, with the mapped error, or with undefined after a normal end. */
  readonly onEnd: (error: unknown) => void;
  /** Called when the implementation fails while it is being closed. */
  readonly onLateError: (error: unknown) => void;
}

interface Pending {
  readonly resolve: (result: IteratorResult<Message>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorResult<Message> = { done: true, value: undefined };

/**
 * A stream that ends at once when told to, even while the implementation is silent. Events are read one at a time, as
 * the reader asks for them.
 */
export class WatchedStream implements AsyncIterableIterator<Message> {
  readonly #events: AsyncIterator<Message>;
  readonly #hooks: WatchedStreamHooks;
  #pending: Pending | undefined;
  #ended = false;
  /** The error that the reader has not got yet. */
  #untold: unknown;

  constructor(events: AsyncIterable<Message>, hooks: WatchedStreamHooks) {
    this.#events = events[Symbol.asyncIterator]();
    this.#hooks = hooks;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the stream with an error, which the reader gets now or when it asks next. */
  end(error: unknown): void {
    if (this.#ended) return;
    const told = this.#hooks.toError(error);
    const pending = this.#finish(told);
    if (pending === undefined) this.#untold = told;
    else pending.reject(told);
    this.#closeEvents();
  }

  next(): Promise<IteratorResult<Message>> {
    if (this.#ended) return this.#afterEnd();
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#events.next().then(
        (result) => this.#onResult(result),
        (error: unknown) => this.#onError(error),
      );
    });
  }

  return(): Promise<IteratorResult<Message>> {
    this.#untold = undefined;
    if (!this.#ended) {
      this.#finish(undefined)?.resolve(DONE);
      this.#closeEvents();
    }
    return Promise.resolve(DONE);
  }

  #onResult(result: IteratorResult<Message>): void {
    if (this.#ended) return;
    const pending = result.done === true ? this.#finish(undefined) : this.#takePending();
    pending?.resolve(result);
  }

  #onError(error: unknown): void {
    if (this.#ended) return;
    const told = this.#hooks.toError(error);
    this.#finish(told)?.reject(told);
  }

  #afterEnd(): Promise<IteratorResult<Message>> {
    const error = this.#untold;
    this.#untold = undefined;
    return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
  }

  #takePending(): Pending | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }

  #finish(error: unknown): Pending | undefined {
    this.#ended = true;
    this.#hooks.onEnd(error);
    return this.#takePending();
  }

  /** Not awaited, because an implementation in the middle of its own next() may answer late or never. */
  #closeEvents(): void {
    this.#events.return?.().catch(this.#hooks.onLateError);
  }
}
