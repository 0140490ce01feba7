import { ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { toApiError } from "../../api/error-mapping.js";
import { ERROR_INFO, encodeErrorInfo, errorInfo } from "../call/error-info.js";
import { toGrpcMessage } from "../http/grpc-message.js";
import { frameOf } from "./frames.js";
import type { Protocol } from "./protocol.js";

/** What ends an answer that has frames: a last frame, or HTTP's trailers. */
export interface Ending {
  readonly frame?: Buffer;
  readonly trailers?: Record<string, string>;
}

/** What ends answers without an error. */
export const GOOD_ENDINGS: Readonly<Record<Protocol, Ending>> = {
  connect: {},
  "connect-stream": endingOf("connect-stream", undefined),
  grpc: endingOf("grpc", undefined),
  "grpc-web": endingOf("grpc-web", undefined),
};

/** Makes what ends an answer; `metadata` has what it tells besides the error. */
export function endingOf(protocol: Protocol, error: ConnectError | undefined, metadata = new Headers()): Ending {
  if (protocol === "connect-stream") {
    const json = JSON.stringify(endStreamToJson(metadata, error, undefined));
    return { frame: frameOf(endStreamFlag, Buffer.from(json)) };
  }
  const trailers = setTrailerStatus(metadata, error);
  // Connect escapes more of the text than gRPC does.
  if (error !== undefined) trailers.set("grpc-message", toGrpcMessage(error.rawMessage));
  if (protocol === "grpc-web") return { frame: frameOf(trailerFlag, trailerSerialize(trailers)) };
  return { trailers: Object.fromEntries(trailers) };
}

/** The answer to anything that was thrown. */
export function toConnectError(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const { code, message, retryAfterS, current } = toApiError(thrown);
  const headers: Record<string, string> = retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) };
  // Trailers cannot hold a lone surrogate.
  const error = new ConnectError(Buffer.from(message).toString(), code, headers);
  if (current !== undefined) {
    error.details.push({ type: ERROR_INFO, value: encodeErrorInfo(current), debug: { ...errorInfo(current) } });
  }
  return error;
}
