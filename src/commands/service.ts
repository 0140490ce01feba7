import manifest from "../../package.json" with { type: "json" };
import { formatAddress, isKeyed, type ServeConfig } from "../config/config.js";
import { type Page, readPages, withBin, withSearch } from "../console/pages.js";
import type { Call } from "../domain/call.js";
import { Pools } from "../pools.js";
import { AuditLog } from "../server/audit-log.js";
import type { Tracing } from "../server/call/call-pipeline.js";
import { Metrics } from "../server/call/metrics.js";
import type { Logger } from "../server/logging.js";
import { RunningServer } from "../server/server.js";
import { Webhook, type WebhookTimes } from "../server/webhook/webhook.js";
import { openStorage, type Storage } from "../storage/open-storage.js";
import { VERSION } from "../version.js";
import { LatestFigures } from "./latest-figures.js";

/** A server with its store, in this process. */
export interface Service {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** What the operator is told at start. */
  readonly startLine: string;
  readonly metricsPort?: number | undefined;
  /** Reads keys, secrets and certificates again, and opens the audit log anew. */
  reload(): void;
  /**
   * Lets running calls finish, for `--shutdown-s` at most, then closes the store. Resolves to whether all calls were
   * answered.
   */
  stop(): Promise<boolean>;
}

/** Parts of a service that workers and tests replace with their own. */
export interface ServiceParts {
  readonly metrics?: ServiceMetrics | undefined;
  /** The console, when its files are not next to the program. */
  readonly pages?: readonly Page[] | undefined;
  readonly webhookTimes?: WebhookTimes | undefined;
}

export interface ServiceMetrics {
  readonly metrics: Metrics;
  /** What `/metrics` answers. */
  readonly metricsText: () => Promise<string>;
}

/** The longest time between two searches for abandoned drafts. */
const MOST_DRAFT_INTERVAL_MS = 30_000;

/** The least time that closing the store gets, even if running calls have used up the time for stopping. */
const CLOSE_MS = 300;

const AUDIT_RISK = "the audit log cannot be written; its lines wait in memory, 10,000 at most";

const DAY_MS = 24 * 3600 * 1000;

/** Tells the console what this server offers. */
function markedPages(pages: readonly Page[], { search, undeleteMs }: ServeConfig): readonly Page[] {
  const withDays = withBin(pages, undeleteMs / DAY_MS);
  return search ? withSearch(withDays, search === "all") : withDays;
}

/** Opens the store and serves it. Rejects with a one-line message when that is impossible. */
export async function startService(config: ServeConfig, logger: Logger, parts: ServiceParts = {}): Promise<Service> {
  const { metrics = ownMetrics(), pages = readPages(), webhookTimes: times } = parts;
  const auditLog = openAuditLog(config, logger, metrics.metrics);
  const tracing = config.tracing ? await loadTracing() : undefined;
  const stopTracing = tracing?.startTracing(VERSION);
  const storage = await openStorage(config.storage, {
    limits: config.limits,
    quotas: config.quotas,
    retentionMs: config.retentionMs,
    undeleteMs: config.undeleteMs,
    feedRetentionMs: config.feedRetentionMs,
    draftTimeoutMs: config.draftTimeoutMs,
    attachmentIdleMs: config.attachmentIdleMs,
    search: config.search,
    logger,
  });
  const pools = new Pools(storage, config.limits, logger);
  let webhook: Webhook | undefined;
  try {
    webhook = makeWebhook(storage, pools, { config, logger, metrics: metrics.metrics, times });
    const server = await RunningServer.start({
      config,
      logger,
      tracing,
      ...metrics,
      pages: config.console ? markedPages(pages, config) : pages,
      usePool: (namespace) => pools.use(namespace),
      pingStorage: () => pools.ping(),
      auditLog,
      risks: () => [...pools.risks(), ...(auditLog?.isFailing ? [AUDIT_RISK] : []), ...webhookRisks(webhook)],
    });
    let sweptAtMs: number | undefined;
    const sweep = async (call: Call) => {
      const report = await pools.sweep(call);
      sweptAtMs = Date.now();
      return report;
    };
    const figures = new LatestFigures((call) => pools.figures(call), logger);
    figures.start();
    metrics.metrics.trackStore(() => figures.current);
    metrics.metrics.trackState({ isReady: () => server.isReady, sweptAtMs: () => sweptAtMs });
    metrics.metrics.trackWebhook(() => webhook?.state);
    webhook?.start();
    const work = [
      ...(webhook ? [webhook] : []),
      figures,
      nowAndThen("A sweep", config.sweepIntervalMs, logger, sweep),
      nowAndThen("Closing idle namespaces", config.namespaceIdleMs / 2, logger, () =>
        pools.closeIdle(config.namespaceIdleMs),
      ),
      nowAndThen("Ending abandoned drafts", draftIntervalMs(config), logger, (call) => pools.endAbandonedDrafts(call)),
    ];
    return {
      grpcPort: server.grpcPort,
      httpPort: server.httpPort,
      metricsPort: server.metricsPort,
      reload: () => {
        server.reload();
        webhook?.reload();
        auditLog?.reopen();
      },
      startLine: startLine(config, server, storage),
      stop: async () => {
        const callsEndMs = Date.now() + config.shutdownMs;
        const stopped = work.map((each) => each.stop());
        const haveAllEnded = await server.stop();
        await Promise.all(stopped);
        await pools.close({ deadlineMs: Math.max(callsEndMs, Date.now() + CLOSE_MS) });
        await stopTracing?.();
        auditLog?.close();
        return haveAllEnded;
      },
    };
  } catch (error) {
    await webhook?.stop();
    await pools.close();
    await stopTracing?.();
    auditLog?.close();
    throw error;
  }
}

/** Throws an Error with a one-line message when the store or the secrets do not permit a webhook. */
function makeWebhook(
  storage: Storage,
  pools: Pools,
  {
    config: { webhook, ...config },
    ...shared
  }: {
    readonly config: ServeConfig;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly times: WebhookTimes | undefined;
  },
): Webhook | undefined {
  if (webhook === undefined) return undefined;
  const { registers, hasFeed } = storage;
  if (registers === undefined || !hasFeed)
    throw new Error(`--webhook needs a store that keeps a feed of its sessions, and ${storage.name} keeps none`);
  return new Webhook({
    ...shared,
    config: webhook,
    registers,
    limits: config.limits,
    shutdownMs: config.shutdownMs,
    usePool: (namespace) => pools.use(namespace),
    // Without keys, everybody works in the same namespace, which is watched from its first session on.
    listNamespaces: async () => [...(isKeyed(config) ? [] : ["default"]), ...(await pools.listNamespaces())],
  });
}

function webhookRisks(webhook: Webhook | undefined): readonly string[] {
  const sinceMs = webhook?.state?.failingSinceMs;
  return sinceMs === undefined ? [] : [`the webhook has failed since ${new Date(sinceMs).toISOString()}`];
}

function openAuditLog({ auditLog }: ServeConfig, logger: Logger, metrics: Metrics): AuditLog | undefined {
  if (auditLog === undefined) return undefined;
  const onFailure = (lostLines: number) => {
    metrics.auditFailures.inc();
    metrics.auditLost.inc(lostLines);
  };
  return new AuditLog(auditLog, { logger, onFailure });
}

/**
 * Loads OpenTelemetry, which is large, and which npm therefore installs only for those who ask for it. Rejects with a
 * one-line message when it is not installed.
 */
async function loadTracing(): Promise<Tracing> {
  try {
    return await import("../server/call/tracing.js");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const needed = `@opentelemetry/sdk-node@${manifest.peerDependencies["@opentelemetry/sdk-node"]}`;
    throw new Error(
      `OTEL_ variables are set, but OpenTelemetry is not installed: run npm install ${needed}, or unset them`,
      { cause },
    );
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

/** The time between two searches: short enough that abandoned drafts end soon after `--draft-timeout-s`. */
function draftIntervalMs({ draftTimeoutMs }: ServeConfig): number {
  return Math.min(draftTimeoutMs / 4, MOST_DRAFT_INTERVAL_MS);
}

/** Repeats work in the background. A failure is logged, and the work is tried again after the next interval. */
function nowAndThen(
  name: string,
  intervalMs: number,
  logger: Logger,
  work: (call: Call) => Promise<unknown>,
): { stop(): Promise<void> } {
  if (intervalMs === 0) return { stop: () => Promise.resolve() };
  const stopped = new AbortController();
  let running: Promise<void> | null = null;
  const run = async () => {
    try {
      const result = await work({ signal: stopped.signal });
      logger.debug({ result }, `${name} has ended`);
    } catch (err) {
      if (!stopped.signal.aborted) logger.warn({ err }, `${name} failed`);
    }
  };
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = null;
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
