import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import { LONGEST_TIMER_MS } from "../../domain/call-end.js";
import { readGrpcTimeout } from "../deadline.js";

type StreamHandler = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** What grpc-js keeps private. */
type WithStreamHandlers = Record<"_streamHandler" | "_channelzHandler", StreamHandler>;

const HEADER = "grpc-timeout";

const WITHHELD = Symbol("timeout");

type MarkedStream = ServerHttp2Stream & { [WITHHELD]?: string };

/**
 * Withholds from grpc-js the timeouts that it misreads: it takes `-1S` for `1S`, and more than 24 days for a time that
 * has passed. Must be called before the server has connections.
 */
export function withholdTimeouts(server: object): void {
  const handlers = server as WithStreamHandlers;
  for (const name of ["_streamHandler", "_channelzHandler"] as const) {
    const handle = handlers[name];
    handlers[name] = function (this: Server, interceptors, stream: MarkedStream, headers) {
      const text = headers[HEADER];
      if (text !== undefined && !isReadWell(String(text))) {
        stream[WITHHELD] = String(text);
        delete headers[HEADER];
      }
      handle.call(this, interceptors, stream, headers);
    };
  }
}

/** Throws unless a timeout that was withheld is a valid one. No timer lasts as long as it says, so none is set. */
export function checkWithheldTimeout(stream: MarkedStream): void {
  const text = stream[WITHHELD];
  if (text !== undefined) readGrpcTimeout(text);
}

function isReadWell(text: string): boolean {
  try {
    return readGrpcTimeout(text) <= LONGEST_TIMER_MS;
  } catch {
    return false;
  }
}
