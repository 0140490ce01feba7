import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { toGrpcMessage } from "./grpc-message.js";
import { HttpProblem } from "./problem.js";
import { REQUEST_ID, requestIdOf } from "./request-facts.js";
import { addPrivacy, sendProblem, writeHead } from "./respond.js";

const RPC_PATH = /^\/[^/]+\.[^/]+\/[^/]+$/;
/** What Connect's clients send with GET, which has no header that names the protocol. */
const CONNECT_GET = /^\/[^/?]+\.[^/?]+\/[^/?]+\?(.*&)?connect=v1(&|$)/;

/**
 * Answers a call of an unknown RPC in the protocol of the call. Returns whether the request is such a call; REST
 * answers all others.
 */
export function refuseUnknownRpc(path: string, request: HttpRequest, response: HttpResponse): boolean {
  if (!RPC_PATH.test(path)) return false;
  return sendAsRpc(request, response, new HttpProblem(Code.Unimplemented, `No such RPC: ${path}`, { status: 404 }));
}

/** Answers with a problem in the protocol of the request: gRPC, gRPC-Web, Connect, or otherwise REST. */
export function sendInProtocol(request: HttpRequest, response: HttpResponse, problem: HttpProblem): void {
  if (!sendAsRpc(request, response, problem)) sendProblem(request, response, problem);
}

function sendAsRpc(request: HttpRequest, response: HttpResponse, { code, message, status }: HttpProblem): boolean {
  const type = (request.headers["content-type"] ?? "").toLowerCase();
  const out = response as ServerResponse;
  if (type.startsWith("application/grpc")) {
    const headers = {
      [REQUEST_ID]: requestIdOf(request),
      "content-type": type,
      "grpc-status": String(code),
      "grpc-message": toGrpcMessage(message),
    };
    addPrivacy(response, headers);
    // writeHead would send the headers separately, and then no gRPC client would take them for trailers.
    for (const [name, value] of Object.entries(headers)) out.setHeader(name, value);
    out.end();
    return true;
  }
  const isConnect = request.headers["connect-protocol-version"] !== undefined || CONNECT_GET.test(request.url ?? "");
  if (!isConnect && !/^application\/(proto$|connect\+)/.test(type)) return false;
  const body = JSON.stringify({ code: codeToString(code), message });
  writeHead(response, status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  out.end(body);
  return true;
}
