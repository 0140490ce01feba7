import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import type { HttpRequest, HttpResponse } from "./http-listener.js";

const RPC_PATH = /^\/[^/]+\.[^/]+\/[^/]+$/;

/** Answers a call of an RPC that is not there, in the protocol of the call. Returns whether the request is one; REST answers all others. */
export function refuseUnknownRpc(path: string, request: HttpRequest, response: HttpResponse): boolean {
  if (!RPC_PATH.test(path)) return false;
  const type = (request.headers["content-type"] ?? "").toLowerCase();
  const message = `No such RPC: ${path}`;
  const out = response as ServerResponse;
  if (type.startsWith("application/grpc")) {
    out.setHeader("content-type", type);
    out.setHeader("grpc-status", String(Code.Unimplemented));
    out.setHeader("grpc-message", encodeURIComponent(message));
    // Without writeHead, which would send the headers apart: then no gRPC client takes them for trailers.
    out.end();
    return true;
  }
  const isConnect = request.headers["connect-protocol-version"] !== undefined;
  if (!isConnect && !/^application\/(proto$|connect\+)/.test(type)) return false;
  const body = JSON.stringify({ code: "unimplemented", message });
  out.writeHead(404, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
  return true;
}
