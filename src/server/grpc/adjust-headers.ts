import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Server } from "@grpc/grpc-js";

/** Returns whether grpc-js shall see the call; otherwise it has been answered. */
type Adjust = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => boolean;

/** Gets what an HTTP/2 server passes to listeners for `stream`; grpc-js reads only the first two. */
type StreamHandler = (
  interceptors: unknown,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
) => void;

const TIMEOUT = "grpc-timeout";
const ENCODING = "grpc-encoding";

const HEADERS = Symbol("headers");

type KnownStream = ServerHttp2Stream & { [HEADERS]?: IncomingHttpHeaders };

/** The headers of a call, as they were adjusted. */
export function headersOf(stream: KnownStream): IncomingHttpHeaders {
  const headers = stream[HEADERS];
  if (headers === undefined) throw new Error("The headers of a call have not been adjusted");
  return headers;
}

/** What grpc-js keeps private. */
type WithStreamHandlers = Record<"_streamHandler" | "_channelzHandler", StreamHandler>;

/**
 * Has the headers of each call adjusted before grpc-js reads them. Calls whose client has gone by then are dropped,
 * because grpc-js would answer some of them, which throws. Must be called before the server has connections.
 */
export function adjustHeaders(server: object, adjust: Adjust): void {
  const handlers = server as WithStreamHandlers;
  for (const name of ["_streamHandler", "_channelzHandler"] as const) {
    const handle = handlers[name];
    handlers[name] = function (this: Server, interceptors, stream: KnownStream, headers, flags, rawHeaders) {
      // Without a listener, an "error" event would end the process.
      stream.on("error", ignore);
      if (stream.destroyed || stream.closed) return;
      if (!adjust(stream, headers, rawHeaders)) return;
      stream[HEADERS] = headers;
      handle.call(this, interceptors, stream, neededHeaders(headers), flags, rawHeaders);
    };
  }
}

/** What grpc-js itself reads. It would check and copy all others for handlers, and those read {@link headersOf}. */
function neededHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const needed: IncomingHttpHeaders = {
    ":path": headers[":path"],
    ":authority": headers[":authority"] ?? headers.host,
    "content-type": headers["content-type"],
  };
  const { [TIMEOUT]: timeout, [ENCODING]: encoding } = headers;
  if (timeout !== undefined) needed[TIMEOUT] = timeout;
  if (encoding !== undefined) needed[ENCODING] = encoding;
  return needed;
}

function ignore(): void {}
