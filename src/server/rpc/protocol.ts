import { parseContentType as parseConnect } from "@connectrpc/connect/protocol-connect";
import { parseContentType as parseGrpc } from "@connectrpc/connect/protocol-grpc";
import { parseContentType as parseGrpcWeb } from "@connectrpc/connect/protocol-grpc-web";
import type { HttpRequest } from "../http/exchange.js";
import { header } from "../http/respond.js";

/**
 * How a call is framed. A unary call of Connect is plain HTTP: its message is the body, and its error the status. In
 * the others each message has a frame, and what ends the answer comes after the messages.
 */
export type Protocol = "connect" | "connect-stream" | "grpc" | "grpc-web";

/** What a request says about its own form. The answer has the same. */
export interface Format {
  readonly protocol: Protocol;
  readonly isBinary: boolean;
  readonly contentType: string;
  /** The header that names the compression of what its sender sends. */
  readonly encodingHeader: "content-encoding" | "connect-content-encoding" | "grpc-encoding";
  /** The header that names the compressions that its sender can read. */
  readonly acceptHeader: "accept-encoding" | "connect-accept-encoding" | "grpc-accept-encoding";
}

const CONNECT = formats("connect", "application/", "content-encoding", "accept-encoding");
const CONNECT_STREAM = formats(
  "connect-stream",
  "application/connect+",
  "connect-content-encoding",
  "connect-accept-encoding",
);
const GRPC = formats("grpc", "application/grpc+", "grpc-encoding", "grpc-accept-encoding");
const GRPC_WEB = formats("grpc-web", "application/grpc-web+", "grpc-encoding", "grpc-accept-encoding");

function formats(
  protocol: Protocol,
  type: string,
  encodingHeader: Format["encodingHeader"],
  acceptHeader: Format["acceptHeader"],
): { readonly json: Format; readonly proto: Format } {
  const common = { protocol, encodingHeader, acceptHeader };
  return {
    json: { ...common, isBinary: false, contentType: `${type}json` },
    proto: { ...common, isBinary: true, contentType: `${type}proto` },
  };
}

/** The format of a POST; undefined if its Content-Type is none in which a method of this kind can be called. */
export function formatOfPost(request: HttpRequest, isUnary: boolean): Format | undefined {
  const type = header(request, "content-type") ?? null;
  const connect = parseConnect(type);
  if (connect !== undefined) {
    if (connect.stream === isUnary) return undefined;
    return codecOf(isUnary ? CONNECT : CONNECT_STREAM, connect);
  }
  const grpc = parseGrpc(type);
  if (grpc !== undefined) return codecOf(GRPC, grpc);
  const web = parseGrpcWeb(type);
  return web === undefined || web.text ? undefined : codecOf(GRPC_WEB, web);
}

function codecOf({ json, proto }: typeof CONNECT, { binary }: { readonly binary: boolean }): Format {
  return binary ? proto : json;
}

/**
 * The format of a GET, which only unary calls of Connect have; undefined if it asks for another. A GET that names none
 * is refused where it is read.
 */
export function formatOfGet(request: HttpRequest, query: URLSearchParams): Format | undefined {
  const type = header(request, "content-type");
  if (type && parseConnect(type)?.stream !== false) return undefined;
  const encoding = query.get("encoding") ?? "json";
  return encoding === "json" || encoding === "proto" ? CONNECT[encoding] : undefined;
}

/** The query of a request. */
export function queryOf({ url = "" }: HttpRequest): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : url.slice(start + 1));
}
