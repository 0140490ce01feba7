import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import type { ApiMethod } from "../api/method-table.js";
import { type Address, isLoopback, type ServerLimits } from "../config/config.js";
import type { CallPipeline } from "./call/front-call.js";
import { makeAuthorityCheck } from "./http/authority.js";
import { makeCors, makeCorsHeaders } from "./http/cors.js";
import type { HttpRequest, HttpResponse } from "./http/exchange.js";
import type { HostCheck } from "./http/hosts.js";
import { HttpListener, hearErrors } from "./http/listener.js";
import { HttpProblem, toProblem } from "./http/problem.js";
import { refusedFacts } from "./http/request-facts.js";
import { sendProblem } from "./http/respond.js";
import type { StaticRoutes } from "./http/static-routes.js";
import { refuseUnknownRpc, sendInProtocol } from "./http/unknown-rpc.js";
import { takeTickets } from "./http/url-ticket.js";
import { Connections } from "./limits/connections.js";
import type { Logger } from "./logging.js";
import { createOpenAiHandler } from "./openai/handler.js";
import { OPENAI_BASE } from "./openai/routes.js";
import { RepeatedLines } from "./repeated-lines.js";
import { createRestHandler } from "./rest/handler.js";
import { createRpcHandler } from "./rpc/handler.js";
import type { TlsFiles } from "./tls-files.js";

export interface HttpServerOptions {
  readonly address: Address;
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly serverLimits: ServerLimits;
  /** The most bytes of an attachment. */
  readonly attachmentBytes?: number | undefined;
  readonly connections: Connections;
  readonly corsOrigins: readonly string[];
  readonly isServedHost: HostCheck;
  /** Whether OpenAI's conversations are served below /v1. */
  readonly openAi?: boolean | undefined;
  readonly tls?: TlsFiles | undefined;
  /** Everything that is neither REST nor an RPC: health, metrics, pages. */
  readonly staticRoutes: StaticRoutes;
  readonly logger: Logger;
}

/** They tell nothing but the state of the server. */
const PROBES: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);
const METRICS_STREAMS = 16;
const METRICS_CONNECTIONS = 64;

/** Serves REST, Connect, gRPC-Web, gRPC and the pages on one port. */
export function createHttpListener(options: HttpServerOptions): HttpListener {
  const { address, methods, pipeline, serverLimits, connections, tls, staticRoutes, logger } = options;
  const cors = makeCors(options.corsOrigins);
  const checkAuthority = makeAuthorityCheck(options.isServedHost);
  const lines = new RepeatedLines(logger);
  const report = (text: string) => (err: unknown) => lines.log("error", `${text}: ${err}`, text, () => ({ err }));
  const reportRequest = report("A request failed unexpectedly");
  const front = { methods, pipeline, limits: serverLimits };
  const rpc = createRpcHandler({ ...front, onUnexpected: report("An RPC failed unexpectedly") });
  const rest = createRestHandler({
    ...front,
    attachmentBytes: options.attachmentBytes,
    // What a page embeds is fetched without naming the page's origin, so the answer cannot depend on it.
    resourcePolicy: options.corsOrigins.length > 0 ? "cross-origin" : "same-origin",
    onUnexpected: report("A REST request failed unexpectedly"),
  });
  const onUnexpected = report("A request to OpenAI's API failed unexpectedly");
  const openAi = options.openAi ? createOpenAiHandler({ ...front, onUnexpected }) : refuseOpenAi;

  function route(request: HttpRequest, response: HttpResponse): void {
    takeTickets(request);
    const path = pathOf(request.url ?? "");
    if (cors(request, response)) return;
    checkAuthority(request, PROBES.has(path) || request.method === "OPTIONS");
    if (staticRoutes.serve(path, request, response, pipeline)) return;
    if (openAi(path, request, response)) return;
    if (rpc(path, request, response) || refuseUnknownRpc(path, request, response)) return;
    rest(request, response);
  }

  function handler(request: HttpRequest, response: HttpResponse): void {
    try {
      route(request, response);
    } catch (error) {
      hearErrors(request, response);
      if (!(error instanceof HttpProblem)) reportRequest(error);
      const problem = error instanceof HttpProblem ? error : new HttpProblem(Code.Internal, "Internal error");
      pipeline.refused(refusedFacts(request), problem);
      if (request.httpVersionMajor === 1) (response as ServerResponse).setHeader("Connection", "close");
      sendInProtocol(request, response, problem);
    }
  }

  const corsHeaders = makeCorsHeaders(options.corsOrigins);
  return new HttpListener({ address, handler, serverLimits, connections, tls, corsHeaders });
}

/** Refuses paths of OpenAI's API where that is off, with an answer that says so. */
function refuseOpenAi(path: string): false {
  if (path !== OPENAI_BASE && !path.startsWith(`${OPENAI_BASE}/`)) return false;
  throw new HttpProblem(Code.NotFound, "OpenAI's conversations are off; --openai turns them on");
}

/**
 * Serves only metrics, without TLS and keys, for an address that only authorised machines can reach. A loopback address
 * serves only the hosts that `isServedHost` allows, because a web page could reach it through a host name of its own.
 */
export function createMetricsListener(
  address: Address,
  routes: StaticRoutes,
  { pipeline, serverLimits, isServedHost }: Pick<HttpServerOptions, "serverLimits" | "pipeline" | "isServedHost">,
): HttpListener {
  const checkAuthority = isLoopback(address.host) ? makeAuthorityCheck(isServedHost) : () => undefined;
  const handler = (request: HttpRequest, response: HttpResponse): void => {
    try {
      // A page could not send a request that names no host.
      checkAuthority(request, true);
      if (routes.serve(pathOf(request.url ?? ""), request, response, pipeline)) return;
      throw new HttpProblem(Code.NotFound, "Only /metrics is served here");
    } catch (error) {
      hearErrors(request, response);
      sendProblem(request, response, toProblem(error));
    }
  };
  return new HttpListener({
    address,
    handler,
    serverLimits: { ...serverLimits, connectionStreams: METRICS_STREAMS },
    connections: new Connections(METRICS_CONNECTIONS),
  });
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
