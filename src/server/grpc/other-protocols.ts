import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ApiError, invalidArgument } from "../../api/api-error.js";
import { toGrpcMessage } from "../http/grpc-message.js";
import { REQUEST_ID, requestIdFrom } from "../http/request-facts.js";

/** Messages as protobuf. */
const CONTENT_TYPE = /^application\/grpc(?:\+proto)?\s*(?:;|$)/i;

/**
 * Refuses what is not gRPC with protobuf, and returns whether it has. By itself grpc-js takes JSON and gRPC-Web for
 * protobuf, does not look at the method, and refuses other types without a word.
 */
export function refuseOtherProtocols(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const { [constants.HTTP2_HEADER_METHOD]: method, "content-type": type } = headers;
  if (method !== "POST") {
    const error = new ApiError(Code.Unimplemented, `${method} is not allowed on the gRPC port: POST`);
    refuse(stream, headers, error, { ":status": 405, allow: "POST" });
    return true;
  }
  if (type !== undefined && CONTENT_TYPE.test(type)) {
    // grpc-js knows only small letters.
    headers["content-type"] = "application/grpc";
    return false;
  }
  const named = type === undefined ? "missing" : JSON.stringify(type);
  const text = `Content-Type must be application/grpc or application/grpc+proto on the gRPC port; it is ${named}`;
  refuse(stream, headers, invalidArgument(text), { ":status": 415 });
  return true;
}

/** gRPC clients read the code and the text, and all others the status. */
function refuse(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { code, message }: ApiError,
  answer: Readonly<Record<string, string | number>>,
): void {
  const given = headers[REQUEST_ID];
  stream.respond(
    {
      ...answer,
      "content-type": "application/grpc",
      "grpc-status": code,
      "grpc-message": toGrpcMessage(message),
      [REQUEST_ID]: requestIdFrom(typeof given === "string" ? given : undefined),
    },
    { endStream: true },
  );
  // Otherwise the stream would stay open until its client ends it.
  setImmediate(() => {
    if (!stream.destroyed) stream.close();
  });
}
