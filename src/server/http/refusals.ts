import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import { HEADERS_TOO_LARGE } from "../limits/header-limit.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { HttpProblem, problemJson } from "./problem.js";
import { REQUEST_ID, requestIdFrom } from "./request-facts.js";
import { PRIVATE_HEADERS, sendProblem } from "./respond.js";
import { sendInProtocol } from "./unknown-rpc.js";

/** The headers with which a page of an origin may read an answer; none if it may not. */
export type CorsHeaders = (origin: string | undefined) => Readonly<Record<string, string>>;

const MALFORMED = {
  400: { reason: "Bad Request", text: "This is not a valid HTTP request" },
  408: { reason: "Request Timeout", text: "The request did not arrive in time" },
  431: {
    reason: "Request Header Fields Too Large",
    text: HEADERS_TOO_LARGE,
  },
} as const;

/** Answers an `Expect` other than `100-continue`. By itself Node would answer without a body and an id. */
export function refuseExpectation(request: HttpRequest, response: HttpResponse): void {
  const message = `Expect must be 100-continue; it is ${JSON.stringify(request.headers.expect)}`;
  sendProblem(request, response, new HttpProblem(Code.InvalidArgument, message, { status: 417 }));
}

/** Answers CONNECT over HTTP/2, which asks for a tunnel. By itself Node would answer without a body and an id. */
export function refuseTunnel(request: HttpRequest, response: HttpResponse): void {
  const message = "CONNECT is not allowed: this server is no proxy";
  sendProblem(request, response, new HttpProblem(Code.Unimplemented, message, { status: 405 }));
}

/** Answers an HTTP/2 request whose headers exceed the limit, in its own protocol. */
export function refuseHeaders(request: HttpRequest, response: HttpResponse, corsHeaders: CorsHeaders): void {
  const cors = Object.entries(corsHeaders(request.headers.origin));
  for (const [name, value] of cors) (response as ServerResponse).setHeader(name, value);
  sendInProtocol(request, response, new HttpProblem(Code.ResourceExhausted, HEADERS_TOO_LARGE, { status: 431 }));
}

/** An error of Node's parser, with the bytes that it could not read. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** Answers what is no HTTP/1.1 request, and disconnects its client. */
export function refuseMalformed(
  { code: cause, rawPacket }: ParseError,
  socket: Duplex,
  corsHeaders: CorsHeaders,
): void {
  const status = cause === "HPE_HEADER_OVERFLOW" ? 431 : cause === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const { reason, text } = MALFORMED[status];
  const requestId = requestIdFrom(undefined);
  const code = status === 431 ? Code.ResourceExhausted : Code.InvalidArgument;
  const problem = new HttpProblem(code, text, { status });
  const body = problemJson(problem, requestId);
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID}: ${requestId}`,
    ...PRIVATE_HEADERS,
    ...Object.entries(corsHeaders(rawPacket && originIn(rawPacket))).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** The origin that a request names whose headers are too large; undefined if it is not in this packet. */
function originIn(packet: Buffer): string | undefined {
  return /\r\norigin: *([!-~]+) *\r\n/i.exec(packet.toString("latin1"))?.[1];
}
