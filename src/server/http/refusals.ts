import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import { REQUEST_ID, requestIdFrom } from "../request-id.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { HttpProblem, problemJson } from "./problem.js";
import { sendProblem } from "./respond.js";

/** How long the request line and headers may be together. */
export const MAX_HEADER_BYTES = 16 * 1024;

const MALFORMED = {
  400: { reason: "Bad Request", text: "This is not a valid HTTP request" },
  408: { reason: "Request Timeout", text: "The request did not arrive in time" },
  431: {
    reason: "Request Header Fields Too Large",
    text: `The request line and the headers are larger than ${MAX_HEADER_BYTES} bytes together`,
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

/** Answers what is no HTTP/1.1 request, and disconnects its client. */
export function refuseMalformed({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  const status = code === "HPE_HEADER_OVERFLOW" ? 431 : code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const { reason, text } = MALFORMED[status];
  const requestId = requestIdFrom(undefined);
  const problem = new HttpProblem(Code.InvalidArgument, text, { status });
  const body = problemJson(problem, requestId);
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID}: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
