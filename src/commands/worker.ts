import type { ServeConfig } from "../config/config.js";
import { Metrics } from "../server/call/metrics.js";
import type { Logger } from "../server/logging.js";
import { type Service, startService } from "./service.js";
import { stopInTime } from "./stop-in-time.js";
import { watchStore } from "./watchdog.js";
import type { FromWorker, ToWorker } from "./worker-messages.js";

/** Serves as one of several processes, until it is told to stop or the process that started it is gone. */
export async function runWorker(config: ServeConfig, logger: Logger): Promise<void> {
  // It is the first process that hears a SIGHUP.
  process.on("SIGHUP", ignore);
  const stopped = new Promise<void>((resolve) => {
    process.once("disconnect", resolve);
    process.on("message", (message: ToWorker) => {
      if (message.kind === "stop") resolve();
    });
  });
  const watchdog = watchStore(config);
  const service = await start(config, logger);
  const { startLine, grpcPort, httpPort } = service;
  process.on("message", (message: ToWorker) => {
    if (message.kind === "reload") service.reload();
  });
  await tell({ kind: "started", startLine, grpcPort, httpPort });
  await stopped;
  await stopInTime(service, config.shutdownMs, logger, watchdog);
}

async function start(config: ServeConfig, logger: Logger): Promise<Service> {
  const metrics = new Metrics();
  process.on("message", (message: ToWorker) => {
    if (message.kind !== "collect") return;
    metrics.registry
      .getMetricsAsJSON()
      .then((values) => tell({ kind: "collected", values }))
      .catch((err: unknown) => logger.error({ err }, "Metrics could not be sent"));
  });
  try {
    return await startService(config, logger, { metrics: { metrics, metricsText: makeMetricsText() } });
  } catch (error) {
    await tell({ kind: "failed", text: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

/** Returns a function that asks the first process for the metrics of all workers. */
function makeMetricsText(): () => Promise<string> {
  const waiting = new Map<number, (text: string) => void>();
  let lastId = 0;
  process.on("message", (message: ToWorker) => {
    if (message.kind !== "metrics") return;
    waiting.get(message.id)?.(message.text);
    waiting.delete(message.id);
  });
  return () =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      tell({ kind: "metrics", id: lastId }).catch(reject);
    });
}

/** Resolves when the message has been sent. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}

function ignore(): void {}
