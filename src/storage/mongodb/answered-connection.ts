import { MongoOperationTimeoutError, MongoServerError } from "mongodb";
import { Connection } from "mongodb/lib/cmap/connection.js";

/**
 * A connection that is closed when the driver gives up waiting for an answer.
 *
 * The driver (7.7) gives up right after it has sent a command if less time is left than a round trip takes, and then
 * puts the connection back into the pool with the answer still to come. It does not compare the ids of answers, so the
 * next command on that connection would take this answer for its own.
 */
export class AnsweredConnection extends Connection {
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
