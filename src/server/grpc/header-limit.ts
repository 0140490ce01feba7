import type { ServerHttp2Stream, ServerOptions } from "node:http2";
import { Code } from "@connectrpc/connect";
import type { Server } from "@grpc/grpc-js";
import { ApiError } from "../../api/api-error.js";
import {
  areHeadersTooLarge,
  HEADER_SETTINGS,
  HEADERS_TOO_LARGE,
  MAX_HEADER_PAIRS,
  refuseTrailers,
} from "../limits/header-limit.js";

/** What grpc-js keeps private. */
interface WithOptions {
  readonly commonServerOptions: ServerOptions;
}

const TOO_LARGE = Symbol("headers too large");

type MarkedStream = ServerHttp2Stream & { [TOO_LARGE]?: true };

/** Has the server announce the limit of headers. Must be called before the server makes its HTTP/2 servers. */
export function announceHeaderLimit(server: Server): void {
  const { commonServerOptions: options } = server as unknown as WithOptions;
  Object.assign(options, {
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    settings: { ...options.settings, ...HEADER_SETTINGS },
  });
}

/** Marks a stream whose headers exceed the limit. grpc-js reads them all the same, but nobody else does. */
export function markLargeHeaders(stream: MarkedStream, rawHeaders: readonly string[]): void {
  if (areHeadersTooLarge(rawHeaders)) stream[TOO_LARGE] = true;
  refuseTrailers(stream);
}

/** Throws if the headers of the stream exceed the limit. */
export function checkMarkedHeaders(stream: MarkedStream): void {
  if (stream[TOO_LARGE]) throw new ApiError(Code.ResourceExhausted, HEADERS_TOO_LARGE);
}
