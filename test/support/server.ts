import { startService } from "../../src/commands/service.js";
import { DEFAULT_SERVER_LIMITS, type ServeConfig } from "../../src/config/config.js";
import type { Page } from "../../src/console/pages.js";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { createLogger, type Logger } from "../../src/server/logging.js";

export interface TestServer {
  /** `host:port` for gRPC's clients. */
  readonly grpcAddress: string;
  /** `http://host:port`, without a slash at the end. */
  readonly httpUrl: string;
  readonly httpPort: number;
  readonly metricsPort: number | undefined;
  readonly startLine: string;
  /** Reads keys and certificates anew, as SIGHUP does. */
  reload(): void;
  stop(): Promise<void>;
}

/** The defaults of `serve`, but in memory, on free ports and without a log. */
export const TEST_CONFIG: ServeConfig = {
  storage: "memory:",
  grpcAddress: { host: "127.0.0.1", port: 0 },
  httpAddress: { host: "127.0.0.1", port: 0 },
  workers: 1,
  logLevel: "silent",
  corsOrigins: [],
  allowedHosts: [],
  console: true,
  reflection: true,
  openAi: false,
  search: false,
  hidesTodos: false,
  limits: DEFAULT_LIMITS,
  serverLimits: DEFAULT_SERVER_LIMITS,
  quotas: {},
  retentionMs: Number.POSITIVE_INFINITY,
  undeleteMs: 0,
  sweepIntervalMs: 0,
  draftTimeoutMs: 900_000,
  feedRetentionMs: 86_400_000,
  attachmentIdleMs: 86_400_000,
  namespaceIdleMs: 900_000,
  shutdownMs: 10_000,
  tracing: false,
};

/** Starts a server in this process, which the caller stops. `pages`: the console as the test has built it. */
export async function startTestServer(
  config: Partial<ServeConfig> = {},
  logger?: Logger,
  pages?: readonly Page[],
): Promise<TestServer> {
  const all = { ...TEST_CONFIG, ...config };
  const service = await startService(all, logger ?? createLogger(all.logLevel), { pages });
  return {
    grpcAddress: `127.0.0.1:${service.grpcPort}`,
    httpUrl: `${all.tls ? "https" : "http"}://127.0.0.1:${service.httpPort}`,
    httpPort: service.httpPort,
    metricsPort: service.metricsPort,
    startLine: service.startLine,
    reload: () => service.reload(),
    stop: async () => {
      await service.stop();
    },
  };
}
