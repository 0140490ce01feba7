import type { Message } from "@bufbuild/protobuf";

export interface WatchedStreamHooks {
  /** Maps what the implementation, or `end`, ends the stream with. */
  readonly toError: (error: unknown) => unknown;
  /** Called once, with the mapped error, or undefined after a good end. */
  readonly onEnd: (error: unknown) => void;
  /** The implementation failed while it was being closed. */
  readonly onLateError: (error: unknown) => void;
}

interface Pending {
  readonly resolve: (result: IteratorResult<Message>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE: IteratorResult<Message> = { done: true, value: undefined };

/**
 * A stream that ends at once when it is told to, even while the implementation says nothing. Events are read one at a time, as its
 * reader asks for them.
 */
export class WatchedStream implements AsyncIterableIterator<Message> {
  readonly #events: AsyncIterator<Message>;
  readonly #hooks: WatchedStreamHooks;
  #pending: Pending | undefined;
  #ended = false;
  /** What the reader still has to be told. */
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

  /** Not waited for: an implementation in the middle of its own next() answers later, or never. */
  #closeEvents(): void {
    this.#events.return?.().catch(this.#hooks.onLateError);
  }
}
