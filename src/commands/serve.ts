import { formatAddress, type ServeConfig } from "../config.js";
import { readPages } from "../console/pages.js";
import { Pools } from "../pools.js";
import { createLogger, type Logger } from "../server/logging.js";
import { RunningServer } from "../server/server.js";
import { startTracing } from "../server/tracing.js";
import { openStorage, type Storage } from "../storage/open-storage.js";
import { VERSION } from "../version.js";

/** A server with its store, in this process. */
export interface Service {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** What the operator is told at start. */
  readonly startLine: string;
  /** Lets running calls finish, then closes the store. */
  stop(): Promise<void>;
}

/** Opens the store and serves it. Rejects with one clear line when that cannot be. */
export async function startService(config: ServeConfig, logger: Logger): Promise<Service> {
  const stopTracing = config.tracing ? await startTracing(VERSION) : undefined;
  const storage = await openStorage(config.storage, { limits: config.limits, logger });
  const pools = new Pools(storage, config.limits, logger);
  try {
    const server = await RunningServer.start({
      config,
      logger,
      pages: readPages(),
      rootPoolFor: (namespace) => pools.for(namespace),
      pingStorage: () => pools.ping(),
    });
    const sweeps = sweepNowAndThen(pools, config.sweepIntervalMs, logger);
    return {
      grpcPort: server.grpcPort,
      httpPort: server.httpPort,
      startLine: startLine(config, server, storage),
      stop: async () => {
        await server.stop();
        await sweeps.stop();
        await pools.close();
        await stopTracing?.();
      },
    };
  } catch (error) {
    await pools.close();
    await stopTracing?.();
    throw error;
  }
}

/** Serves until SIGTERM or SIGINT; a second one ends the process at once. Resolves when all is closed. */
export async function serve(config: ServeConfig): Promise<void> {
  const logger = createLogger(config.logLevel);
  const service = await startService(config, logger);
  process.stdout.write(`${service.startLine}\n`);
  const signal = await firstSignal();
  logger.info({ signal }, "Stopping");
  await service.stop();
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let seen = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (seen) process.exit(1);
      seen = true;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

function startLine(
  { grpcAddress, httpAddress, tls }: ServeConfig,
  ports: { grpcPort: number; httpPort: number },
  storage: Storage,
): string {
  const grpc = formatAddress({ ...grpcAddress, port: ports.grpcPort });
  const http = formatAddress({ ...httpAddress, port: ports.httpPort });
  return `session-pool ${VERSION}: gRPC on ${grpc}, HTTP on ${tls ? "https" : "http"}://${http}, storage ${storage.name}`;
}

/** Sweeps in the background; a failed sweep is logged, and the next one goes on. */
function sweepNowAndThen(pools: Pools, intervalMs: number, logger: Logger): { stop(): Promise<void> } {
  if (intervalMs === 0) return { stop: () => Promise.resolve() };
  const stopped = new AbortController();
  let running = Promise.resolve();
  const sweep = async () => {
    try {
      const report = await pools.sweep({ signal: stopped.signal });
      logger.debug(report, "Swept");
    } catch (err) {
      if (!stopped.signal.aborted) logger.warn({ err }, "A sweep failed");
    }
  };
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = sweep().finally(() => {
      isRunning = false;
    });
  }, intervalMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      stopped.abort();
      await running;
    },
  };
}
