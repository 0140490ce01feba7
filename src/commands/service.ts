import { formatAddress, type ServeConfig } from "../config.js";
import { type Page, readPages } from "../console/pages.js";
import { Pools } from "../pools.js";
import { loadTracing } from "../server/call/load-tracing.js";
import { Metrics } from "../server/call/metrics.js";
import type { Logger } from "../server/logging.js";
import { RunningServer } from "../server/server.js";
import { openStorage, type Storage } from "../storage/open-storage.js";
import { VERSION } from "../version.js";

/** A server with its store, in this process. */
export interface Service {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** What the operator is told at start. */
  readonly startLine: string;
  readonly metricsPort?: number | undefined;
  /** Reads keys and certificates again. */
  reload(): void;
  /** Lets running calls finish, for `--shutdown-s` at most, then closes the store. */
  stop(): Promise<void>;
  /** Ends at once whatever else would go on without this process. */
  kill?(): void;
}

/** What a service is given by whoever starts it in a way of their own. */
export interface ServiceParts {
  readonly metrics?: ServiceMetrics | undefined;
  /** The console, when it is built elsewhere than beside the program. */
  readonly pages?: readonly Page[] | undefined;
}

export interface ServiceMetrics {
  readonly metrics: Metrics;
  /** What `/metrics` answers. */
  readonly metricsText: () => Promise<string>;
}

/** What closing the store gets at least, when calls have taken all of the time. */
const CLOSE_MS = 300;

/** Opens the store and serves it. Rejects with one clear line when that cannot be. */
export async function startService(config: ServeConfig, logger: Logger, parts: ServiceParts = {}): Promise<Service> {
  const { metrics = ownMetrics(), pages = readPages() } = parts;
  const tracing = config.tracing ? await loadTracing() : undefined;
  const stopTracing = tracing?.startTracing(VERSION);
  const storage = await openStorage(config.storage, { limits: config.limits, logger });
  const pools = new Pools(storage, config.limits, logger);
  try {
    const server = await RunningServer.start({
      config,
      logger,
      tracing,
      ...metrics,
      pages,
      rootPoolFor: (namespace) => pools.for(namespace),
      pingStorage: () => pools.ping(),
    });
    const sweeps = sweepNowAndThen(pools, config.sweepIntervalMs, logger);
    return {
      grpcPort: server.grpcPort,
      httpPort: server.httpPort,
      metricsPort: server.metricsPort,
      reload: () => server.reload(),
      startLine: startLine(config, server, storage),
      stop: async () => {
        const callsEndMs = Date.now() + config.shutdownMs;
        const swept = sweeps.stop();
        await server.stop();
        await swept;
        await pools.close({ deadlineMs: Math.max(callsEndMs, Date.now() + CLOSE_MS) });
        await stopTracing?.();
      },
    };
  } catch (error) {
    await pools.close();
    await stopTracing?.();
    throw error;
  }
}

function ownMetrics(): ServiceMetrics {
  const metrics = new Metrics();
  return { metrics, metricsText: () => metrics.registry.metrics() };
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
