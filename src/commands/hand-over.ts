import type { ChildProcess } from "node:child_process";
import type { Worker } from "node:cluster";

/** The fields of Node's own messages between the processes of a cluster that matter here. */
interface ClusterMessage {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

/**
 * Lets no connection hang that was given to a worker which then died. Node keeps such a connection open in this process
 * until the worker confirms that it has taken it. When the worker dies before that, Node forgets the connection without
 * closing it. Here it goes to another worker, or is closed if `hasOther` says that there is none.
 *
 * Node does not document what this relies on, which is the same in Node 20 to 26. Where it differs, nothing changes.
 */
export function handOver(worker: Worker, hasOther: () => boolean): void {
  const child = worker.process as ChildProcess & { _handleQueue?: unknown };
  const unconfirmed = new Map<unknown, { close(): void }>();
  const send = child.send as (...args: unknown[]) => boolean;
  child.send = (...args: unknown[]) => {
    const [message, connection] = args as [ClusterMessage, { close?: unknown } | undefined];
    if (message.cmd === "NODE_CLUSTER" && message.act === "newconn" && typeof connection?.close === "function")
      unconfirmed.set(message.seq, connection as { close(): void });
    return send.apply(child, args);
  };
  child.on("internalMessage", ({ ack }: ClusterMessage) => unconfirmed.delete(ack));
  // Node calls this once it has read the last message of a worker that has ended. It would leave the worker among those
  // that it chooses from if the worker had not received a connection yet.
  const { disconnect } = child;
  child.disconnect = () => {
    child._handleQueue = null;
    disconnect.call(child);
  };
  worker.once("disconnect", () => {
    for (const [ack, connection] of unconfirmed) {
      // This is how a worker refuses a connection because it is closing its port.
      if (hasOther()) child.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted: false });
      else connection.close();
    }
  });
}
