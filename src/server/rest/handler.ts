import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { parseJson } from "../../codec/json-text.js";
import { DEFAULT_SERVER_LIMITS } from "../../config/config.js";
import type { CallPipeline } from "../call/front-call.js";
import { type BodyLimits, checkBodyHeaders, hasBody, readBody } from "../http/body.js";
import type { HttpRequest, HttpResponse } from "../http/exchange.js";
import { hearErrors } from "../http/listener.js";
import { HttpProblem, toProblem } from "../http/problem.js";
import { requestIdOf } from "../http/request-facts.js";
import { header, sendAllowed, sendJson, sendProblem } from "../http/respond.js";
import { startCall } from "../http/start-call.js";
import type { Admission } from "../limits/admissions.js";
import { STALL_MS } from "../limits/stall.js";
import { type Binding, readBindings } from "./binding.js";
import { type Match, Router } from "./router.js";
import { chooseFraming, type Framings, makeFramings, resumeFrom, sendStream } from "./stream.js";
import { parseTarget, type Target } from "./target.js";
import { makeTranscoder, type Transcoder } from "./transcoder.js";

export interface RestOptions {
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly limits?: Partial<BodyLimits> & {
    /** How long the client of a stream may read nothing. */
    readonly stalledMs?: number;
  };
  /** Receives errors that are this program's fault. */
  readonly onUnexpected?: (error: unknown) => void;
}

export type RestHandler = (request: HttpRequest, response: HttpResponse) => void;

interface Route {
  readonly method: ApiMethod;
  readonly transcoder: Transcoder;
  readonly framings: Framings;
}

/** Compiles every binding of the methods. Throws on an invalid template or a conflict. */
function makeRouter(methods: readonly ApiMethod[]): Router<Route> {
  const router = new Router<Route>();
  for (const method of methods.filter((one) => !one.grpcOnly)) {
    for (const binding of readBindings(method.desc)) addRoute(router, method, binding);
  }
  return router;
}

function addRoute(router: Router<Route>, method: ApiMethod, binding: Binding): void {
  const transcoder = makeTranscoder(binding);
  const framings = makeFramings(method.desc, transcoder.writeResponse);
  router.add(binding.httpMethod, binding.template, { method, transcoder, framings });
}

/**
 * Serves the methods as plain HTTP and JSON, by their `google.api.http` options, over HTTP/1 and HTTP/2. Unknown paths
 * are `not_found`. Whatever a client does, it gets an answer or is disconnected, and nothing is thrown.
 */
export function createRestHandler({
  methods,
  pipeline,
  limits = {},
  onUnexpected = () => {},
}: RestOptions): RestHandler {
  const router = makeRouter(methods);
  const { stalledMs = STALL_MS } = limits;
  const bodyLimits: BodyLimits = { ...DEFAULT_SERVER_LIMITS, ...limits };
  const report = (error: unknown): void => {
    if (!(error instanceof ApiError)) onUnexpected(error);
  };

  async function serve(request: HttpRequest, response: HttpResponse): Promise<void> {
    const target = parseTarget(request.url ?? "");
    if (request.method === "OPTIONS") return sendAllowed(request, response, allowedMethods(router, target));
    const { target: route, variables } = findRoute(router, request, target);
    const { method, transcoder, framings } = route;
    const call = await startCall("rest", pipeline, method, { request, response });
    const path = transcoder.readPath(variables);
    const query = transcoder.readQuery(target.query, path, call.admission);
    const json = hasBody(request) ? await readJson(request, call.admission) : undefined;
    const message = transcoder.buildRequest(path, query, json);
    if (method.desc.methodKind === "unary") {
      const answer = await pipeline.unary(method, message, call);
      return sendJson(request, response, transcoder.writeResponse(answer), call.admission, stalledMs);
    }
    const framing = chooseFraming(request, framings);
    if (framing.contentType === "text/event-stream") resumeFrom(message, method.desc, header(request, "last-event-id"));
    const events = await pipeline.stream(method, message, call);
    await sendStream(response, events, framing, {
      requestId: requestIdOf(request),
      headOnly: request.method === "HEAD",
      stalledMs,
      onUnexpected: report,
    });
  }

  async function readJson(request: HttpRequest, admission: Admission): Promise<unknown> {
    checkBodyHeaders(request, bodyLimits.bodyBytes);
    const bytes = await readBody(request, bodyLimits, admission);
    return bytes.length === 0 ? undefined : parseJson(bytes, admission);
  }

  return (request, response) => {
    hearErrors(request, response);
    serve(request, response).catch((error: unknown) => {
      report(error);
      sendProblem(request, response, toProblem(error));
    });
  };
}

function findRoute(router: Router<Route>, request: HttpRequest, { path }: Target): Match<Route> {
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  const match = router.match(method, path);
  if ("target" in match) return match;
  if (match.allowed.size === 0) throw noSuchPath(path);
  const allow = allowHeader(match.allowed);
  throw new HttpProblem(Code.Unimplemented, `${request.method} is not allowed here: ${allow}`, {
    status: 405,
    headers: { allow },
  });
}

function allowedMethods(router: Router<Route>, { path }: Target): string {
  if (path === "*") return allowHeader(router.methods);
  // HAProxy's plain check asks for this path. There is something else to do with it only if the console is served.
  if (path === "/") return allowHeader(new Set());
  const match = router.match("OPTIONS", path);
  const allowed = "target" in match ? router.methods : match.allowed;
  if (allowed.size === 0) throw noSuchPath(path);
  return allowHeader(allowed);
}

function allowHeader(methods: ReadonlySet<string>): string {
  const all = new Set(methods).add("OPTIONS");
  if (all.has("GET")) all.add("HEAD");
  return [...all].sort().join(", ");
}

function noSuchPath(path: string): HttpProblem {
  return new HttpProblem(Code.NotFound, `No such path: ${path}`);
}
