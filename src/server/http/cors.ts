import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { authorityOf } from "./authority.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { hearErrors } from "./listener.js";
import { HttpProblem } from "./problem.js";
import type { CorsHeaders } from "./refusals.js";
import { writeHead } from "./respond.js";

const METHODS = "GET, HEAD, POST, PATCH, DELETE, OPTIONS";
const MAX_AGE_SECONDS = "7200";

/** Headers that pages may send: those of REST, Connect and gRPC-Web. See also OPENAI_HEADER. */
const REQUEST_HEADERS = [
  "Authorization",
  "Content-Type",
  "Content-Encoding",
  "Accept",
  "Last-Event-ID",
  "If-None-Match",
  "If-Match",
  "If-Range",
  "Range",
  "Content-Digest",
  "Digest",
  "Connect-Protocol-Version",
  "Connect-Timeout-Ms",
  "Connect-Content-Encoding",
  "Connect-Accept-Encoding",
  "Grpc-Timeout",
  "Grpc-Encoding",
  "Grpc-Accept-Encoding",
  "X-Grpc-Web",
  "X-User-Agent",
  "Traceparent",
  "Tracestate",
  "X-Request-Id",
].join(", ");

/** Headers that the packages of OpenAI send. Which ones differs from version to version, so they have no list. */
const OPENAI_HEADER = /^(x-stainless|openai)-[a-z-]+$/i;

/** Headers that pages may read. */
const RESPONSE_HEADERS = [
  "Content-Encoding",
  "Accept-Encoding",
  "Connect-Content-Encoding",
  "Grpc-Encoding",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
  "Retry-After",
  "WWW-Authenticate",
  "Allow",
  "ETag",
  "Accept-Ranges",
  "Content-Range",
  "Content-Length",
  "Content-Disposition",
  "X-Request-Id",
].join(", ");

/**
 * Lets pages of other origins call. Returns whether the request was a preflight, which has then been answered. What is
 * thrown or answered afterwards can be read by the page, too.
 */
export type Cors = (request: HttpRequest, response: HttpResponse) => boolean;

/**
 * For these origins; `*` means all. Only origins that are named may send credentials. This server has no use for them
 * itself, but a proxy in front of it may sign users in by cookie.
 */
export function makeCorsHeaders(origins: readonly string[]): CorsHeaders {
  const exposed = { "Access-Control-Expose-Headers": RESPONSE_HEADERS };
  const known = new Set(origins);
  if (known.has("*")) {
    const forAll = { "Access-Control-Allow-Origin": "*", ...exposed };
    return (origin) => (origin === undefined ? {} : forAll);
  }
  const named = { "Access-Control-Allow-Credentials": "true", ...exposed };
  return (origin) =>
    origin !== undefined && known.has(origin) ? { "Access-Control-Allow-Origin": origin, ...named } : {};
}

/**
 * CORS for these origins; `*` means all. Without any, pages of other origins cannot call, and a change that a browser
 * sends for one is refused.
 */
export function makeCors(origins: readonly string[]): Cors {
  if (origins.length === 0) {
    return (request) => {
      refuseForeignPage(request);
      return false;
    };
  }
  const variesByOrigin = !origins.includes("*");
  const headersFor = makeCorsHeaders(origins);
  return (request, response) => {
    if (variesByOrigin) response.setHeader("Vary", "Origin");
    const headers = Object.entries(headersFor(request.headers.origin));
    for (const [name, value] of headers) response.setHeader(name, value);
    if (headers.length === 0) refuseForeignPage(request);
    if (headers.length === 0 || !isPreflight(request)) return false;
    hearErrors(request, response);
    response.setHeader("Access-Control-Allow-Methods", METHODS);
    response.setHeader("Access-Control-Allow-Headers", [REQUEST_HEADERS, ...openaiHeaders(request)].join(", "));
    response.setHeader("Access-Control-Max-Age", MAX_AGE_SECONDS);
    writeHead(response, 204, {});
    (response as ServerResponse).end();
    return true;
  };
}

/**
 * A browser sends simple requests, such as a POST without a body, without asking first. Reads need no refusal, because
 * the page cannot see the answer.
 */
function refuseForeignPage(request: HttpRequest): void {
  const { method } = request;
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || !isOfForeignPage(request)) return;
  throw new HttpProblem(
    Code.PermissionDenied,
    "Pages of this origin may not call; the server allows origins by --cors-origin",
  );
}

/**
 * Browsers send Sec-Fetch-Site, which pages cannot set, but not over plain HTTP to hosts other than localhost. There
 * the origin is compared instead.
 */
function isOfForeignPage(request: HttpRequest): boolean {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (site !== undefined) return site === "cross-site" || site === "same-site";
  return origin !== undefined && !isOwnOrigin(origin, authorityOf(request));
}

/** Compares only hosts and ports, because the schemes differ behind a proxy that ends TLS. */
function isOwnOrigin(origin: string, authority: string | undefined): boolean {
  if (authority === undefined || !/^https?:/.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const own = `${protocol}//${authority}`;
  return URL.canParse(own) && new URL(own).host === host;
}

function openaiHeaders({ headers }: HttpRequest): readonly string[] {
  const asked = headers["access-control-request-headers"]?.split(",") ?? [];
  return asked.map((name) => name.trim()).filter((name) => OPENAI_HEADER.test(name));
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
