import cluster from "node:cluster";
import { type ServeConfig, warningsOf } from "../config.js";
import { createLogger } from "../server/logging.js";
import { startService } from "./service.js";
import { StopSignals } from "./signals.js";
import { stopInTime } from "./stop-in-time.js";
import { runWorker } from "./worker.js";
import { startWorkers } from "./workers.js";

/**
 * Serves until SIGTERM or SIGINT, in one process or several; a second signal ends it at once. On SIGHUP, keys and
 * certificates are read again.
 */
export async function serve(config: ServeConfig): Promise<void> {
  const logger = createLogger(config.logLevel);
  if (cluster.isWorker) return runWorker(config, logger);
  for (const warning of warningsOf(config)) logger.warn(warning);
  const service = config.workers > 1 ? await startWorkers(config.workers, logger) : await startService(config, logger);
  process.on("SIGHUP", () => service.reload());
  // A server continues when nobody reads this line.
  process.stdout.on("error", () => {});
  process.stdout.write(`${service.startLine}\n`);
  const signals = new StopSignals();
  const signal = await signals.next();
  logger.info({ signal }, "Stopping");
  signals.next().then(() => {
    service.kill?.();
    process.exit(1);
  });
  await stopInTime(service, config.shutdownMs, logger);
}
