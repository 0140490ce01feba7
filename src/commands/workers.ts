import cluster, { type Worker } from "node:cluster";
import type { Logger } from "../server/logging.js";
import type { Service } from "./service.js";
import { closeUntaken } from "./untaken-connections.js";
import type { FromWorker, ToWorker } from "./worker-messages.js";
import { WorkerMetrics } from "./worker-metrics.js";

type Started = Extract<FromWorker, { kind: "started" }>;

const REPLACE_AFTER_MS = 1000;

/**
 * Starts processes that share the ports and the store, and end with this one at the latest. Rejects with a one-line
 * message when they cannot serve.
 */
export async function startWorkers(count: number, logger: Logger): Promise<Service> {
  const metrics = new WorkerMetrics((worker) => tell(worker, { kind: "collect" }));
  const serving = new Set<Worker>();
  let stopping = false;
  process.once("exit", killAll);
  cluster.on("message", (worker, message: FromWorker) => {
    if (message.kind === "started") serving.add(worker);
    // What a worker has sent may be read after its end.
    if (message.kind === "collected" && serving.has(worker)) metrics.collected(worker, message.values);
    // Chance decides which worker is asked for metrics, so each returns those of all.
    if (message.kind === "metrics") {
      const { id } = message;
      metrics.text([...serving]).then(
        (text) => tell(worker, { kind: "metrics", id, text }),
        (err: unknown) => logger.error({ err }, "The metrics of the workers could not be put together"),
      );
    }
    // That a first worker cannot start is the error of the whole service.
    if (message.kind === "failed" && !firstWorkers.has(worker))
      logger.error({ worker: worker.process.pid, reason: message.text }, "A worker cannot start");
  });
  cluster.on("exit", (worker, code, signal) => {
    const hasStarted = serving.delete(worker);
    metrics.ended(worker);
    // A first worker that cannot start ends the whole service instead.
    if (stopping || (firstWorkers.has(worker) && !hasStarted)) return;
    logger.error({ worker: worker.process.pid, code, signal }, "A worker ended; another takes its place");
    setTimeout(() => stopping || fork(), REPLACE_AFTER_MS);
  });
  const fork = () => {
    const worker = cluster.fork();
    closeUntaken(worker);
    return worker;
  };
  const firstWorkers = new Set(Array.from({ length: count }, fork));
  const started = await Promise.all([...firstWorkers].map(whenStarted)).catch((error: unknown) => {
    stopping = true;
    killAll();
    throw error;
  });
  const { startLine, grpcPort, httpPort } = started[0] as Started;
  return {
    grpcPort,
    httpPort,
    startLine: `${startLine}, ${count} workers`,
    reload: () => {
      for (const worker of living()) tell(worker, { kind: "reload" });
    },
    stop: async () => {
      stopping = true;
      // A worker whose channel has closed had died before, even if its exit is not known yet.
      const isServing = (worker: Worker) => serving.has(worker) && worker.isConnected();
      const stops = await Promise.all(living().map((worker) => stopWorker(worker, isServing(worker), logger)));
      return stops.every((isComplete) => isComplete);
    },
  };
}

/** Node lists a worker until its channel has closed as well, which may be after its end. */
function living(): Worker[] {
  const listed = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  return listed.filter((worker) => !worker.isDead());
}

function killAll(): void {
  for (const worker of living()) worker.process.kill("SIGKILL");
}

function whenStarted(worker: Worker): Promise<Started> {
  return new Promise((resolve, reject) => {
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "started") resolve(message);
      if (message.kind === "failed") reject(new Error(message.text));
    });
    worker.once("exit", (code, signal) =>
      reject(new Error(`A worker ended at its start (${signal ?? `exit ${code}`})`)),
    );
  });
}

/** Resolves to whether the worker has ended as it should. */
function stopWorker(worker: Worker, isServing: boolean, logger: Logger): Promise<boolean> {
  return new Promise((resolve) => {
    worker.once("exit", (code, signal) => {
      const isComplete = !isServing || code === 0;
      if (!isComplete)
        logger.error({ worker: worker.process.pid, code, signal }, "A worker ended before it had stopped");
      resolve(isComplete);
    });
    // A worker that is still starting might not hear it, and has nothing to finish.
    if (isServing) tell(worker, { kind: "stop" });
    else worker.process.kill("SIGKILL");
  });
}

/** A worker that has just died is told nothing. Without the callback, that would be an error that ends this process. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}
