import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { type ByteString, toByteString, toBytes, type Utf8 } from "../../domain/byte-string.js";
import type { Admission } from "../limits/admissions.js";
import { STALL_MS } from "../limits/stall.js";
import { hasBody } from "./body.js";
import { chooseEncoding, compress, type Encoding, MIN_COMPRESSED_BYTES } from "./compression.js";
import { type HttpRequest, type HttpResponse, isGone } from "./exchange.js";
import { type HttpProblem, problemJson } from "./problem.js";
import { REQUEST_ID, requestIdOf } from "./request-facts.js";

/** Headers of an answer, by their names in lower case. */
export type Headers = Record<string, string | number>;

const SENT_AS_STRING_BYTES = 64 * 1024;

/** How much of an unwanted body is read, so that the client sees the answer before the connection ends. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** Less is read for a stream, because a stream can be closed without its connection. */
const MAX_DISCARDED_OF_STREAM = 1024 * 1024;

/**
 * Answers 200 with JSON, compressed if the client prefers that. Throws when there is no room for an answer that waits
 * to be read.
 */
export function sendJson(
  request: HttpRequest,
  response: HttpResponse,
  json: Utf8,
  admission: Admission,
  stalledMs?: number,
): Promise<void> | undefined {
  return sendContent(request, response, "application/json", json, admission, stalledMs);
}

/** Answers 200 with a content of this type, as {@link sendJson} does. */
export function sendContent(
  request: HttpRequest,
  response: HttpResponse,
  contentType: string,
  body: ByteString | Uint8Array,
  admission: Admission,
  stalledMs?: number,
): Promise<void> | undefined {
  admission.hold(body.length);
  const headers: Headers = { "content-type": contentType, vary: "Accept-Encoding" };
  const encoding = body.length < MIN_COMPRESSED_BYTES ? undefined : chooseEncoding(header(request, "accept-encoding"));
  // Not an async function, because an answer that needs no compression is sent at once.
  if (encoding === undefined) send(request, response, 200, headers, body, stalledMs);
  else {
    headers["content-encoding"] = encoding;
    return compressHeld(body, encoding, admission).then((compressed) =>
      send(request, response, 200, headers, compressed, stalledMs),
    );
  }
}

async function compressHeld(body: ByteString | Uint8Array, encoding: Encoding, admission: Admission): Promise<Buffer> {
  const compressed = await compress(typeof body === "string" ? toBytes(body) : body, encoding);
  admission.release(body.length - compressed.length);
  return compressed;
}

/** Answers with a problem, in REST's form unless another form is given. */
export function sendProblem(
  request: HttpRequest,
  response: HttpResponse,
  problem: HttpProblem,
  json = problemJson(problem, requestIdOf(request)),
): void {
  const headers = { "content-type": "application/json", ...problem.headers };
  send(request, response, problem.status, headers, toByteString(json));
}

/** Answers OPTIONS. */
export function sendAllowed(request: HttpRequest, response: HttpResponse, allow: string): void {
  send(request, response, 204, { allow }, undefined);
}

/** Answers with this status. HEAD gets no body. */
export function send(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  headers: Headers,
  body: ByteString | Uint8Array | undefined,
  stalledMs?: number,
): void {
  // The client has gone, so there is nobody to answer.
  if (response.headersSent || isGone(response)) return;
  if (body !== undefined) headers["content-length"] = body.length;
  writeHead(response, status, headers);
  if (request.method === "HEAD" || body === undefined) response.end();
  else end(response, body);
  abandonUnread(response, stalledMs);
  discardRest(request);
}

/** Disconnects a client that leaves a finished answer unread for this long. */
export function abandonUnread(response: HttpResponse, stalledMs = STALL_MS): void {
  const isUnderway = "stream" in response || (response.socket?.writableLength ?? 0) > 0;
  if (!isUnderway || isGone(response)) return;
  const timer = setTimeout(() => response.destroy(), stalledMs).unref();
  response.once("close", () => clearTimeout(timer));
}

/** Releases what a request holds once its answer has been sent or the client has gone. */
export function endWhenSent(admission: Admission, response: HttpResponse): void {
  if (isGone(response)) admission.end();
  else response.on("close", () => admission.end());
}

/**
 * Writes the head of an answer, with the id of its request and who may learn of it. Every front writes its heads with
 * this. (Node writes a head faster when none of its headers was set before.)
 */
export function writeHead(response: HttpResponse, status: number, headers: Headers): void {
  headers[REQUEST_ID] = requestIdOf(response.req);
  addPrivacy(response, headers);
  // The two kinds of responses differ only in their types here.
  (response as ServerResponse).writeHead(status, headers);
}

/**
 * Node sends a string together with the headers in one piece, without a buffer of its own. But if the client does not
 * read it, Node keeps it in memory twice.
 */
function end(response: HttpResponse, body: ByteString | Uint8Array): void {
  if (typeof body === "string" && body.length > SENT_AS_STRING_BYTES) (response as ServerResponse).end(toBytes(body));
  else (response as ServerResponse).end(body, "latin1");
}

/**
 * Closing a connection on which the client is still sending would lose the answer. So the rest is read and thrown away,
 * up to a limit.
 */
export function discardRest(request: HttpRequest): void {
  if (request.complete || !hasBody(request)) return;
  let left = "stream" in request ? MAX_DISCARDED_OF_STREAM : MAX_DISCARDED_BYTES;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left >= 0) return;
    if ("stream" in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
    else request.socket.destroy();
  });
}

export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

/**
 * Keeps caches from giving an answer to a caller with another key, or with none, and other servers from learning its
 * URL, which may hold a ticket. An answer that says itself how long it may be kept is for everybody, unless it is
 * private.
 */
export function addPrivacy(response: HttpResponse, headers: Headers): void {
  headers["referrer-policy"] = "no-referrer";
  const isForEverybody =
    headers["cache-control"] !== undefined && !String(headers["cache-control"]).startsWith("private");
  headers["cache-control"] ??= "no-store";
  // Set before, for example for CORS.
  const already = response.getHeader("vary");
  if (already === undefined && headers.vary === "Accept-Encoding" && !isForEverybody) {
    // The usual case, without joining.
    headers.vary = "Accept-Encoding, Authorization";
    return;
  }
  const own = isForEverybody ? [] : ["Authorization"];
  headers.vary = [already, headers.vary, ...own].filter((name) => name !== undefined).join(", ");
}

/** The headers of {@link addPrivacy} for an answer whose head is written by hand. */
export const PRIVATE_HEADERS = ["cache-control: no-store", "vary: Authorization", "referrer-policy: no-referrer"];
