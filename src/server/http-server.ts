import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import type { ApiMethod } from "../api/method-table.js";
import type { Address, LoadLimits } from "../config.js";
import { createConnectHandler } from "./connect.js";
import { makeCors } from "./cors.js";
import type { Caller } from "./front-call.js";
import { HttpListener, type HttpRequest, type HttpResponse, hearErrors } from "./http-listener.js";
import type { Logger } from "./logging.js";
import { createRestHandler } from "./rest/handler.js";
import { HttpProblem } from "./rest/problem.js";
import { sendProblem } from "./rest/respond.js";
import type { StaticRoutes } from "./static-routes.js";
import { refuseUnknownRpc } from "./unknown-rpc.js";

export interface HttpServerOptions {
  readonly address: Address;
  readonly methods: readonly ApiMethod[];
  readonly caller: Caller;
  readonly load: LoadLimits;
  readonly corsOrigins: readonly string[];
  readonly tls?: { readonly certPath: string; readonly keyPath: string } | undefined;
  /** What is neither REST nor an RPC: health, metrics, pages. */
  readonly staticRoutes: StaticRoutes;
  readonly logger: Logger;
}

const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:[\]%\\<>^`{|}]+)(?::(\d{1,5}))?$/;

/** REST, Connect, gRPC-Web and gRPC, and the pages, on one port. */
export function createHttpListener(options: HttpServerOptions): HttpListener {
  const { address, methods, caller, load, tls, staticRoutes, logger } = options;
  const cors = makeCors(options.corsOrigins);
  const connect = createConnectHandler({ methods, caller, bodyBytes: load.bodyBytes, logger });
  const rest = createRestHandler({
    methods,
    caller,
    limits: { bodyBytes: load.bodyBytes },
    onUnexpected: (err) => logger.error({ err }, "A request by REST failed unexpectedly"),
  });

  function route(request: HttpRequest, response: HttpResponse): void {
    checkAuthority(request);
    if (cors(request, response)) return;
    const path = pathOf(request.url ?? "");
    if (staticRoutes.serve(path, request, response)) return;
    if (connect(path, request, response) || refuseUnknownRpc(path, request, response)) return;
    rest(request, response);
  }

  function handler(request: HttpRequest, response: HttpResponse): void {
    try {
      route(request, response);
    } catch (error) {
      hearErrors(request, response);
      if (!(error instanceof HttpProblem)) logger.error({ err: error }, "A request failed unexpectedly");
      const problem = error instanceof HttpProblem ? error : new HttpProblem(Code.Internal, "Internal error");
      if (request.httpVersionMajor === 1) (response as ServerResponse).setHeader("Connection", "close");
      sendProblem(request, response, problem);
    }
  }

  return new HttpListener({ address, handler, connectionStreams: load.connectionStreams, tls });
}

/** The host must be there and be one: connect-node, and much else that makes a URL of it, throws otherwise. */
function checkAuthority(request: HttpRequest): void {
  const authority = "authority" in request ? request.authority : request.headers.host;
  if (authority === undefined || !isAuthority(authority)) {
    throw new HttpProblem(Code.InvalidArgument, "The request must name a valid host");
  }
}

/** Clients say the same thing all the time. */
let lastValid: string | undefined;

function isAuthority(text: string): boolean {
  if (text === lastValid) return true;
  const match = AUTHORITY.exec(text);
  if (match === null || Number(match[1] ?? 0) > 65_535) return false;
  lastValid = text;
  return true;
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
