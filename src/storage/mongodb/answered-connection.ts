import type { Duplex } from "node:stream";
import { MongoNetworkError, MongoOperationTimeoutError, MongoServerError } from "mongodb";
import { Connection, type ConnectionOptions } from "mongodb/lib/cmap/connection.js";
import { ReplyFrames } from "./reply-frames.js";

/**
 * A connection that is closed when the server sends something that is no answer, and when the driver gives up waiting
 * for an answer.
 *
 * The driver (7.7) gives up right after it has sent a command if less time is left than a round trip takes, and then
 * puts the connection back into the pool with the answer still to come. It does not compare the ids of answers, so the
 * next command on that connection would take this answer for its own.
 */
export class AnsweredConnection extends Connection {
  constructor(stream: Duplex, options: ConnectionOptions) {
    super(stream, options);
    const frames = new ReplyFrames(() => Boolean(this.description.compressor));
    // The driver has connected the stream to its parser, which must not see the bytes before they are checked.
    stream.prependListener("data", (chunk: Buffer) => {
      if (this.closed) return;
      const wrong = frames.take(chunk);
      if (wrong === undefined) return;
      this.onError(new MongoNetworkError(`The server at ${this.address} sent ${wrong}`));
      // It drops what is written to it from now on.
      this.messageStream.destroy();
    });
  }

  override async command(...args: Parameters<Connection["command"]>): Promise<unknown> {
    try {
      return await super.command(...args);
    } catch (error) {
      const isUnanswered = error instanceof MongoOperationTimeoutError && !(error.cause instanceof MongoServerError);
      if (isUnanswered) this.onError(error);
      throw error;
    }
  }
}
