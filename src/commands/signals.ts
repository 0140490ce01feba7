import cluster from "node:cluster";

/**
 * Resolves to the first signal that asks the process to end; from now on, it no longer ends the process by itself. A
 * second signal ends the process at once, with exit code 1. A worker ignores both: a terminal sends its signals to all
 * processes of the group, but only the first process may decide.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isFirst = true;
    // The listener is never removed, because without one the next signal would end the process before its "exit" event.
    const onSignal = (signal: NodeJS.Signals) => {
      if (cluster.isWorker) return;
      if (!isFirst) process.exit(1);
      isFirst = false;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  });
}
