import type { ChildProcess } from "node:child_process";
import type { Worker } from "node:cluster";

/** The fields of Node's own messages between the processes of a cluster that matter here. */
interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

interface Closable {
  close(): void;
}

/**
 * Closes the connections that were given to a worker and that it had not taken when it died, so that their clients are
 * told at once and can connect again. Without this, two things would leave clients without an answer:
 *
 * - This process accepts all connections, and passes each to a worker. It keeps its own copy open until the worker
 *   confirms that it has taken the connection. When the worker dies before that, Node forgets the copy without closing
 *   it.
 * - Node does not notice the end of a worker's channel while a connection that it has sent there was not received. It
 *   would go on giving connections of the other port to the dead worker.
 *
 * The second is mended by documented means: `disconnect` takes the worker out of those that get connections. The first
 * relies on what Node does not document, and what is the same in Node 20 to 26: connections are given by `send`, with a
 * message whose `act` is `newconn` and whose `seq` the worker's answer repeats as `ack`, in an `internalMessage` event.
 * If any of this changes, no connection is noted down here, and those that a dying worker did not take hang until their
 * clients give up. Nothing else breaks. The test of this file makes a worker die in this way, and fails then.
 */
export function closeUntaken(worker: Worker): void {
  const child = worker.process as ChildProcess;
  const untaken = new Map<unknown, Closable>();
  const send = child.send as (...args: unknown[]) => boolean;
  child.send = (...args: unknown[]) => {
    const [message, connection] = args as [ClusterMessage, Closable | undefined];
    if (message.act === "newconn" && connection !== undefined) untaken.set(message.seq, connection);
    return send.apply(child, args);
  };
  child.on("internalMessage", ({ ack }: ClusterMessage) => untaken.delete(ack));
  // The process has ended and everything that it sent was read.
  child.once("close", () => {
    worker.disconnect();
    for (const connection of untaken.values()) connection.close();
  });
}
