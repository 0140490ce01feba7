import { API_METHODS } from "../api/method-table.js";
import { isKeyed, type ServeConfig } from "../config/config.js";
import { endsBy } from "../domain/call.js";
import { VERSION } from "../version.js";
import type { AuditLog } from "./audit-log.js";
import { type Authenticator, BearerAuthenticator, type CredentialChecker } from "./auth/authenticator.js";
import { KeyFile } from "./auth/key-file.js";
import type { Tickets } from "./auth/tickets.js";
import { CallAudit } from "./call/call-audit.js";
import { type CallPipelineOptions, CheckedCallPipeline, type Tracing } from "./call/call-pipeline.js";
import type { CallPipeline } from "./call/front-call.js";
import { METRICS_CONTENT_TYPE, type Metrics } from "./call/metrics.js";
import { type GrpcServer, startGrpcServer } from "./grpc/grpc-server.js";
import { makeHostCheck } from "./http/hosts.js";
import type { HttpListener } from "./http/listener.js";
import { type StaticAnswer, StaticRoutes } from "./http/static-routes.js";
import { createHttpListener, createMetricsListener } from "./http-server.js";
import { Connections } from "./limits/connections.js";
import type { Logger } from "./logging.js";
import { Readiness } from "./readiness.js";
import { openApiDocument } from "./rest/openapi/openapi.js";
import { TlsFiles } from "./tls-files.js";

export interface ServerOptions {
  readonly config: ServeConfig;
  readonly usePool: CallPipelineOptions["usePool"];
  /** The console and its files. */
  readonly pages: readonly (StaticAnswer & { readonly path: string })[];
  /** Resolves when the store answers. */
  readonly pingStorage: () => Promise<void>;
  /** What the store's settings endanger, for the answer of \`/readyz\`; nothing when absent. */
  readonly risks?: (() => readonly string[]) | undefined;
  readonly metrics: Metrics;
  /** Absent where there is none. */
  readonly auditLog?: AuditLog | undefined;
  /** Resolves to the content of `/metrics`. */
  readonly metricsText: () => Promise<string>;
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
}

/** How long clients may take to end their connections after the last call was answered. */
const CLOSE_MS = 500;
const PLAIN = "text/plain; charset=utf-8";

/** All ports, which are started and stopped together. */
export class RunningServer {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** The port of `--metrics-address`. */
  readonly metricsPort: number | undefined;
  readonly #grpc: GrpcServer;
  readonly #listeners: readonly HttpListener[];
  readonly #tls: TlsFiles | undefined;
  readonly #pipeline: CheckedCallPipeline;
  readonly #authenticator: Authenticator;
  readonly #audit: CallAudit | undefined;
  readonly #readiness: Readiness;
  readonly #shutdownMs: number;
  readonly #logger: Logger;

  private constructor(parts: ServerParts, [httpPort, metricsPort]: readonly number[]) {
    this.grpcPort = parts.grpc.port;
    this.httpPort = httpPort!;
    this.metricsPort = metricsPort;
    this.#grpc = parts.grpc;
    this.#listeners = parts.listeners;
    this.#tls = parts.tls;
    this.#pipeline = parts.pipeline;
    this.#authenticator = parts.authenticator;
    this.#audit = parts.audit;
    this.#readiness = parts.readiness;
    this.#shutdownMs = parts.shutdownMs;
    this.#logger = parts.logger;
  }

  /** Listens on all ports. Rejects with a one-line message when a port or a file cannot be used. */
  static async start(options: ServerOptions): Promise<RunningServer> {
    const { config, usePool, pingStorage, metrics, logger, tracing, auditLog } = options;
    const { serverLimits, limits, quotas, shutdownMs, hidesTodos } = config;
    const readiness = new Readiness(pingStorage, logger);
    const { authenticator, tickets } = await makeAccess(config, logger);
    const audit = auditLog && new CallAudit(auditLog);
    const listeners: HttpListener[] = [];
    let tls: TlsFiles | undefined;
    try {
      tls = config.tls && new TlsFiles(config.tls, logger);
      const pipeline = new CheckedCallPipeline({
        authenticator,
        usePool,
        limits,
        hidesTodos,
        signTicket: tickets && ((claims) => tickets.sign(claims)),
        serverLimits,
        quotas,
        metrics,
        logger,
        audit,
        tracing,
      });
      const isServedHost = makeHostCheck({ allowed: config.allowedHosts, isKeyed: isKeyed(config) });
      const connections = new Connections(serverLimits.connections);
      const shared = { methods: API_METHODS, pipeline, serverLimits, connections, tls, logger, isServedHost };
      const staticRoutes = makeStaticRoutes(options, pipeline, readiness);
      const { httpAddress: address, corsOrigins, openAi } = config;
      const { attachmentBytes } = limits;
      listeners.push(createHttpListener({ ...shared, address, attachmentBytes, corsOrigins, openAi, staticRoutes }));
      if (config.metricsAddress) {
        // Metrics need no key, whether the server has keys or not.
        const isServedHost = makeHostCheck({ allowed: config.allowedHosts, isKeyed: false });
        const routes = makeMetricsRoutes(options);
        listeners.push(createMetricsListener(config.metricsAddress, routes, { pipeline, serverLimits, isServedHost }));
      }
      const ports = await Promise.all(listeners.map((listener) => listener.listen()));
      const grpc = await startGrpcServer({ ...shared, address: config.grpcAddress, reflection: config.reflection });
      readiness.start((isReady) => grpc.health.setServing(isReady));
      const running = { pipeline, authenticator, audit, readiness, shutdownMs, logger };
      return new RunningServer({ grpc, listeners, tls, ...running }, ports);
    } catch (error) {
      for (const listener of listeners) listener.kill();
      await Promise.all(listeners.map((listener) => listener.drain()));
      tls?.close();
      authenticator.close();
      throw error;
    }
  }

  /** Whether `/readyz` answered 200, or would have, when readiness was looked at last. */
  get isReady(): boolean {
    return this.#readiness.isReady;
  }

  /** Reads keys and certificates again. */
  reload(): void {
    this.#authenticator.reload();
    this.#tls?.reload();
  }

  /**
   * Becomes not ready; running calls may finish for a while, and streams end with `unavailable`. Resolves to whether
   * all calls have ended by themselves.
   */
  async stop(): Promise<boolean> {
    this.#readiness.stop();
    this.#grpc.health.setServing(false);
    const drained = Promise.all([this.#grpc.drain(), ...this.#listeners.map((listener) => listener.drain())]);
    const haveEnded = await endsBy(Date.now() + this.#shutdownMs, this.#pipeline.stop());
    if (!haveEnded) this.#logger.warn("Calls that were still running have been cut off");
    for (const listener of this.#listeners) listener.closeIdle();
    await endsBy(Date.now() + CLOSE_MS, drained);
    this.#grpc.kill();
    for (const listener of this.#listeners) listener.kill();
    await drained;
    this.#tls?.close();
    this.#authenticator.close();
    this.#audit?.flush();
    return haveEnded;
  }
}

interface ServerParts {
  readonly grpc: GrpcServer;
  /** The HTTP port, then the metrics port if there is one. */
  readonly listeners: readonly HttpListener[];
  readonly tls: TlsFiles | undefined;
  readonly pipeline: CheckedCallPipeline;
  readonly authenticator: Authenticator;
  readonly audit: CallAudit | undefined;
  readonly readiness: Readiness;
  readonly shutdownMs: number;
  readonly logger: Logger;
}

interface Access {
  readonly authenticator: Authenticator;
  /** Absent where there is no secret for tickets. */
  readonly tickets: Tickets | undefined;
}

async function makeAccess({ keysFile, jwt, ticketSecretFile }: ServeConfig, logger: Logger): Promise<Access> {
  // The package that checks and signs tokens is loaded only when tokens or tickets are used.
  const tokens = jwt && (await import("./auth/jwt.js"));
  const signing = ticketSecretFile === undefined ? undefined : await import("./auth/tickets.js");
  const keys: CredentialChecker[] = [];
  try {
    if (keysFile !== undefined) keys.push(new KeyFile(keysFile, logger));
    if (tokens !== undefined) keys.push(new tokens.JwtChecker(jwt!, logger));
    const tickets = signing && new signing.Tickets(ticketSecretFile!, logger);
    return { authenticator: new BearerAuthenticator({ keys, tickets }), tickets };
  } catch (error) {
    for (const checker of keys) checker.close();
    throw error;
  }
}

function makeStaticRoutes(options: ServerOptions, pipeline: CallPipeline, readiness: Readiness): StaticRoutes {
  const { config, pages, logger } = options;
  const routes = new StaticRoutes(logger);
  routes.add("/healthz", () => ({ contentType: PLAIN, text: "ok\n" }));
  routes.add("/readyz", async () => {
    const problem = await readiness.problem();
    return problem === undefined
      ? {
          contentType: PLAIN,
          text: ["ok", ...(options.risks?.() ?? []).map((risk) => `warning: ${risk}`), ""].join("\n"),
        }
      : { status: 503, contentType: PLAIN, text: `${problem}\n` };
  });
  if (config.metricsAddress === undefined) routes.addForKeys("/metrics", pipeline, () => metricsAnswer(options));
  if (config.console) {
    let openApi: string | undefined;
    routes.addPage("/openapi.json", () => {
      openApi ??= JSON.stringify(openApiDocument(API_METHODS, VERSION, config.limits));
      return { contentType: "application/json", text: openApi };
    });
    for (const page of pages) routes.addPage(page.path, () => page);
  }
  return routes;
}

function makeMetricsRoutes(options: ServerOptions): StaticRoutes {
  return new StaticRoutes(options.logger).add("/metrics", () => metricsAnswer(options));
}

async function metricsAnswer({ metricsText }: ServerOptions): Promise<StaticAnswer> {
  return { contentType: METRICS_CONTENT_TYPE, text: await metricsText() };
}
