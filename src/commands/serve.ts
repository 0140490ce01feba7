import cluster from "node:cluster";
import { type ServeConfig, warningsOf } from "../config/config.js";
import { createLogger } from "../server/logging.js";
import { startService } from "./service.js";
import { stopInTime } from "./stop-in-time.js";
import { watchStore } from "./watchdog.js";
import { runWorker } from "./worker.js";
import { startWorkers } from "./workers.js";

/**
 * Serves until `stopped` resolves to a signal, in one process or several. On SIGHUP, keys and certificates are read
 * again.
 */
export async function serve(config: ServeConfig, stopped: Promise<NodeJS.Signals>): Promise<void> {
  const logger = createLogger(config.logLevel);
  if (cluster.isWorker) return runWorker(config, logger);
  const signalled = stopped.then((signal) => logger.info({ signal }, "Stopping"));
  for (const warning of warningsOf(config)) logger.warn(warning);
  // With several processes, each worker has its own.
  const watchdog = config.workers > 1 ? undefined : watchStore(config);
  const starting = config.workers > 1 ? startWorkers(config.workers, logger) : startService(config, logger);
  const service = await Promise.race([starting, signalled]);
  // Nothing was served yet that could be cut off.
  if (!service) process.exit(0);
  process.on("SIGHUP", () => service.reload());
  // A server continues when nobody reads this line.
  process.stdout.on("error", () => {});
  process.stdout.write(`${service.startLine}\n`);
  await signalled;
  await stopInTime(service, config.shutdownMs, logger, watchdog);
}
