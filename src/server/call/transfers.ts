import type { Message } from "@bufbuild/protobuf";
import { untilCallEnd } from "../../domain/call-end.js";

/**
 * What the client of an upload sends, as the implementation takes it. An upload may last, but the time that the service
 * takes between one message and the next is limited as that of a call. How long the client may pause is up to the
 * fronts, which see each byte.
 */
export class Uploaded implements AsyncIterableIterator<Message> {
  /** How many bytes have arrived. */
  bytes: number;
  /** Whether the client has sent everything. */
  isWhole = false;
  readonly #rest: AsyncIterator<Message>;
  readonly #timer: NodeJS.Timeout;
  #isClientsTurn = false;

  constructor(first: Message, rest: AsyncIterable<Message>, stepMs: number, onLate: () => void) {
    this.bytes = chunkBytes(first);
    this.#rest = rest[Symbol.asyncIterator]();
    this.#timer = setTimeout(() => {
      if (!this.#isClientsTurn) onLate();
    }, stepMs);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Message>> {
    this.#isClientsTurn = true;
    try {
      const result = await this.#rest.next();
      if (result.done) this.isWhole = true;
      else this.bytes += chunkBytes(result.value);
      return result;
    } finally {
      this.#isClientsTurn = false;
      if (!this.#hasStopped) this.#timer.refresh();
    }
  }

  async return(): Promise<IteratorResult<Message>> {
    await this.#rest.return?.();
    return { done: true, value: undefined };
  }

  /** Called when the upload has ended. */
  stop(): void {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
  }

  #hasStopped = false;
}

/** Limits the time for each message of a download as that of a call, and tells how many bytes it has. */
export function timedChunks(
  source: AsyncIterable<Message>,
  stepMs: number,
  onBytes: (bytes: number) => void,
): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          const result = await untilCallEnd(iterator.next(), { deadlineMs: Date.now() + stepMs });
          if (!result.done) onBytes(chunkBytes(result.value));
          return result;
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function chunkBytes(message: Message): number {
  const { chunk } = message as { readonly chunk?: unknown };
  return chunk instanceof Uint8Array ? chunk.length : 0;
}
