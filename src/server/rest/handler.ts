import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { parseJson } from "../../codec/json-text.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../config/config.js";
import { DEFAULT_LIMITS } from "../../domain/limits.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import { checkBodyHeaders, hasBody, readBody } from "../http/body.js";
import type { HttpExchange, HttpRequest, HttpResponse } from "../http/exchange.js";
import { hearErrors } from "../http/listener.js";
import { HttpProblem, toProblem } from "../http/problem.js";
import { requestIdOf } from "../http/request-facts.js";
import { header, sendAllowed, sendJson, sendProblem } from "../http/respond.js";
import { startCall } from "../http/start-call.js";
import type { Admission } from "../limits/admissions.js";
import { STALL_MS } from "../limits/stall.js";
import { makeDownload, type ResourcePolicy } from "./attachment-download.js";
import { makeUpload } from "./attachment-upload.js";
import { type Binding, readBindings } from "./binding.js";
import { type Match, Router } from "./router.js";
import { chooseFraming, type Framings, makeFramings, resumeFrom, sendStream } from "./stream.js";
import { parseTarget, type Target } from "./target.js";
import { makeTranscoder, type Transcoder } from "./transcoder.js";

export interface RestOptions {
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly limits?: Partial<ServerLimits> & {
    /** How long the client of a stream may read nothing. */
    readonly stalledMs?: number;
  };
  /** The most bytes of an attachment. */
  readonly attachmentBytes?: number | undefined;
  /** Which pages may embed attachments. */
  readonly resourcePolicy?: ResourcePolicy;
  /** Receives errors that are this program's fault. */
  readonly onUnexpected?: (error: unknown) => void;
}

export type RestHandler = (request: HttpRequest, response: HttpResponse) => void;

interface Route {
  readonly method: ApiMethod;
  readonly transcoder: Transcoder;
  readonly framings: Framings;
  readonly transfer: Transfer | undefined;
}

/** Carries the bytes of a route whose body or answer is not JSON. Rejects only while an error can still be answered. */
interface Transfer {
  readonly takesBody: boolean;
  run(exchange: HttpExchange, request: Message, call: FrontCall): Promise<void>;
}

/** Compiles every binding of the methods. Throws on an invalid template or a conflict. */
function makeRouter(
  methods: readonly ApiMethod[],
  makeTransfer: (method: ApiMethod, binding: Binding, transcoder: Transcoder) => Transfer | undefined,
): Router<Route> {
  const router = new Router<Route>();
  for (const method of methods.filter((one) => !one.grpcOnly)) {
    for (const binding of readBindings(method.desc)) {
      const transcoder = makeTranscoder(binding);
      const framings = makeFramings(method.desc, transcoder.writeResponse);
      const transfer = makeTransfer(method, binding, transcoder);
      router.add(binding.httpMethod, binding.template, { method, transcoder, framings, transfer });
    }
  }
  return router;
}

/**
 * Serves the methods as plain HTTP and JSON, by their `google.api.http` options, over HTTP/1 and HTTP/2. Unknown paths
 * are `not_found`. Whatever a client does, it gets an answer or is disconnected, and nothing is thrown.
 */
export function createRestHandler({
  methods,
  pipeline,
  limits = {},
  attachmentBytes = DEFAULT_LIMITS.attachmentBytes,
  resourcePolicy = "same-origin",
  onUnexpected = () => {},
}: RestOptions): RestHandler {
  const { stalledMs = STALL_MS } = limits;
  const serverLimits: ServerLimits = { ...DEFAULT_SERVER_LIMITS, ...limits };
  const report = (error: unknown): void => {
    if (!(error instanceof ApiError)) onUnexpected(error);
  };
  const router = makeRouter(methods, (method, { transfer }, { writeResponse }) => {
    if (transfer === "download") {
      return {
        takesBody: false,
        run: makeDownload(method, pipeline, { resourcePolicy, stalledMs, onUnexpected: report }),
      };
    }
    if (transfer !== "upload") return undefined;
    const upload = makeUpload(method, pipeline, { serverLimits, attachmentBytes });
    const run: Transfer["run"] = async ({ request, response }, message, call) => {
      const answer = await upload(request, message, call);
      return sendJson(request, response, writeResponse(answer), call.admission, stalledMs);
    };
    return { takesBody: true, run };
  });

  async function serve(request: HttpRequest, response: HttpResponse): Promise<void> {
    const target = parseTarget(request.url ?? "");
    if (request.method === "OPTIONS") return sendAllowed(request, response, allowedMethods(router, target));
    const { target: route, variables } = findRoute(router, request, target);
    const { method, transcoder, framings, transfer } = route;
    const call = await startCall("rest", pipeline, method, { request, response });
    const path = transcoder.readPath(variables);
    const query = transcoder.readQuery(target.query, path, call.admission);
    const json = !transfer?.takesBody && hasBody(request) ? await readJson(request, call.admission) : undefined;
    const message = transcoder.buildRequest(path, query, json);
    if (transfer !== undefined) return transfer.run({ request, response }, message, call);
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
    checkBodyHeaders(request, serverLimits.bodyBytes);
    const bytes = await readBody(request, serverLimits, admission);
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
