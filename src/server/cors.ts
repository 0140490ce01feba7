import type { ServerResponse } from "node:http";
import { type HttpRequest, type HttpResponse, hearErrors } from "./http-listener.js";

const METHODS = "GET, HEAD, POST, PATCH, DELETE, OPTIONS";
const MAX_AGE_SECONDS = "7200";

/** What pages may send: the headers of REST, Connect and gRPC-Web. */
const REQUEST_HEADERS = [
  "Authorization",
  "Content-Type",
  "Content-Encoding",
  "Accept",
  "Last-Event-ID",
  "Connect-Protocol-Version",
  "Connect-Timeout-Ms",
  "Connect-Content-Encoding",
  "Connect-Accept-Encoding",
  "Grpc-Timeout",
  "X-Grpc-Web",
  "X-User-Agent",
  "Traceparent",
  "Tracestate",
].join(", ");

/** What pages may read. */
const RESPONSE_HEADERS = [
  "Content-Encoding",
  "Connect-Content-Encoding",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
  "Retry-After",
  "WWW-Authenticate",
  "Allow",
].join(", ");

/** Lets pages of other origins call. Returns whether the request was a preflight, and is answered. */
export type Cors = (request: HttpRequest, response: HttpResponse) => boolean;

/** CORS for the origins; `*` stands for all. Without any, pages of other origins cannot call. */
export function makeCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return () => false;
  const all = origins.includes("*");
  const known = new Set(origins);
  return (request, response) => {
    if (!all) response.setHeader("Vary", "Origin");
    const { origin } = request.headers;
    if (origin === undefined || !(all || known.has(origin))) return false;
    response.setHeader("Access-Control-Allow-Origin", all ? "*" : origin);
    if (!isPreflight(request)) {
      response.setHeader("Access-Control-Expose-Headers", RESPONSE_HEADERS);
      return false;
    }
    hearErrors(request, response);
    response.setHeader("Access-Control-Allow-Methods", METHODS);
    response.setHeader("Access-Control-Allow-Headers", REQUEST_HEADERS);
    response.setHeader("Access-Control-Max-Age", MAX_AGE_SECONDS);
    (response as ServerResponse).writeHead(204).end();
    return true;
  };
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
