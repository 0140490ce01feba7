import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import { HEADERS_TOO_LARGE } from "../limits/header-limit.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { HttpProblem, problemJson } from "./problem.js";
import { REQUEST_ID, requestIdFrom } from "./request-facts.js";
import { PRIVATE_HEADERS, sendProblem } from "./respond.js";
import { sendInProtocol } from "./unknown-rpc.js";

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
export function refuseHeaders(request: HttpRequest, response: HttpResponse): void {
  sendInProtocol(request, response, new HttpProblem(Code.ResourceExhausted, HEADERS_TOO_LARGE, { status: 431 }));
}

/** Answers what is no HTTP/1.1 request, and disconnects its client. */
export function refuseMalformed({ code: cause }: NodeJS.ErrnoException, socket: Duplex): void {
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
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
