// Loaded into a service: on SIGUSR2 its main thread computes without end and, if that is asked for, it waits for ever
// while the process exits.
import { isMainThread } from "node:worker_threads";

process.on("SIGUSR2", () => {
  for (;;);
});
if (process.env.WAIT_AT_EXIT && isMainThread)
  process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
