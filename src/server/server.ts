import type { ApiContext } from "../api/method-table.js";
import { API_METHODS } from "../api/method-table.js";
import type { ServeConfig } from "../config.js";
import { VERSION } from "../version.js";
import { type Authenticator, BearerAuthenticator, type CredentialChecker, openAuthenticator } from "./auth.js";
import { CheckedCaller } from "./caller.js";
import { type GrpcServer, startGrpcServer } from "./grpc-server.js";
import type { HttpListener } from "./http-listener.js";
import { createHttpListener } from "./http-server.js";
import { JwtChecker } from "./jwt.js";
import { KeyFile } from "./key-file.js";
import type { Logger } from "./logging.js";
import { METRICS_CONTENT_TYPE, type Metrics } from "./metrics.js";
import { openApiDocument } from "./rest/openapi.js";
import { type StaticAnswer, StaticRoutes } from "./static-routes.js";

export interface ServerOptions {
  readonly config: ServeConfig;
  readonly rootPoolFor: (namespace: string) => ApiContext["rootPool"];
  /** The console and what belongs to it. */
  readonly pages: readonly (StaticAnswer & { readonly path: string })[];
  /** Resolves when the store answers. */
  readonly pingStorage: () => Promise<void>;
  readonly metrics: Metrics;
  /** What `/metrics` answers. */
  readonly metricsText: () => Promise<string>;
  readonly logger: Logger;
}

const READY_TIMEOUT_MS = 2000;
/** How long clients get to end their connections after the last call was answered. */
const CLOSE_MS = 1000;
const PLAIN = "text/plain; charset=utf-8";

/** Both ports, started and stopped together. */
export class RunningServer {
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly #grpc: GrpcServer;
  readonly #http: HttpListener;
  readonly #caller: CheckedCaller;
  readonly #authenticator: Authenticator;
  readonly #readiness: Readiness;
  readonly #shutdownMs: number;

  private constructor(parts: ServerParts, ports: { readonly grpc: number; readonly http: number }) {
    this.grpcPort = ports.grpc;
    this.httpPort = ports.http;
    this.#grpc = parts.grpc;
    this.#http = parts.http;
    this.#caller = parts.caller;
    this.#authenticator = parts.authenticator;
    this.#readiness = parts.readiness;
    this.#shutdownMs = parts.shutdownMs;
  }

  /** Listens on both ports. Rejects with one clear line when a port or a file cannot be used. */
  static async start(options: ServerOptions): Promise<RunningServer> {
    const { config, rootPoolFor, pages, pingStorage, metrics, metricsText, logger } = options;
    const { load, limits, tls } = config;
    const readiness = new Readiness(pingStorage);
    const authenticator = makeAuthenticator(config, logger);
    const { tracing, shutdownMs } = config;
    const caller = new CheckedCaller({ authenticator, rootPoolFor, limits, load, metrics, logger, tracing });
    const shared = { methods: API_METHODS, caller, load, tls, logger };
    const staticRoutes = makeStaticRoutes(metricsText, readiness, logger);
    for (const { path, ...page } of pages) staticRoutes.add(path, () => page);
    const http = createHttpListener({
      ...shared,
      address: config.httpAddress,
      corsOrigins: config.corsOrigins,
      staticRoutes,
    });
    const httpPort = await http.listen();
    try {
      const grpc = await startGrpcServer({ ...shared, address: config.grpcAddress });
      grpc.health.setServing(true);
      readiness.isOn = true;
      return new RunningServer(
        { grpc, http, caller, authenticator, readiness, shutdownMs },
        { grpc: grpc.port, http: httpPort },
      );
    } catch (error) {
      http.kill();
      await http.drain();
      authenticator.close();
      throw error;
    }
  }

  /** Not ready any more; running calls may finish, for a while; streams end with `unavailable`. */
  async stop(): Promise<void> {
    this.#readiness.isOn = false;
    this.#grpc.health.setServing(false);
    const drained = Promise.all([this.#grpc.drain(), this.#http.drain()]);
    await atMost(this.#shutdownMs, this.#caller.stop());
    this.#http.closeIdle();
    await atMost(CLOSE_MS, drained);
    this.#grpc.kill();
    this.#http.kill();
    await drained;
    this.#authenticator.close();
  }
}

interface ServerParts {
  readonly grpc: GrpcServer;
  readonly http: HttpListener;
  readonly caller: CheckedCaller;
  readonly authenticator: Authenticator;
  readonly readiness: Readiness;
  readonly shutdownMs: number;
}

/** What `/readyz` says. */
class Readiness {
  isOn = false;
  readonly #pingStorage: () => Promise<void>;

  constructor(pingStorage: () => Promise<void>) {
    this.#pingStorage = pingStorage;
  }

  /** Undefined when ready, else why not. */
  async problem(): Promise<string | undefined> {
    if (!this.isOn) return "The server is starting or stopping";
    const answered = this.#pingStorage().then(
      () => true,
      () => false,
    );
    return (await atMost(READY_TIMEOUT_MS, answered)) === true ? undefined : "The store does not answer";
  }
}

function makeAuthenticator({ keysFile, jwt }: ServeConfig, logger: Logger): Authenticator {
  const checkers: CredentialChecker[] = [];
  if (keysFile !== undefined) checkers.push(new KeyFile(keysFile, logger));
  if (jwt !== undefined) checkers.push(new JwtChecker(jwt, logger));
  return checkers.length === 0 ? openAuthenticator : new BearerAuthenticator(checkers);
}

function makeStaticRoutes(metricsText: () => Promise<string>, readiness: Readiness, logger: Logger): StaticRoutes {
  const routes = new StaticRoutes(logger);
  routes.add("/healthz", () => ({ contentType: PLAIN, text: "ok\n" }));
  routes.add("/readyz", async () => {
    const problem = await readiness.problem();
    return problem === undefined
      ? { contentType: PLAIN, text: "ok\n" }
      : { status: 503, contentType: PLAIN, text: `${problem}\n` };
  });
  routes.add("/metrics", async () => ({
    contentType: METRICS_CONTENT_TYPE,
    text: await metricsText(),
  }));
  const openApi = JSON.stringify(openApiDocument(API_METHODS, VERSION));
  routes.add("/openapi.json", () => ({ contentType: "application/json", text: openApi }));
  return routes;
}

/** Waits for `work`, but no longer than that; rejects as it does. */
async function atMost<T>(timeoutMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
