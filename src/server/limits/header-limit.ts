import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";

/** How large the request line and the headers of a request may be together, on both ports. */
export const MAX_HEADER_BYTES = 16 * 1024;

export const HEADERS_TOO_LARGE = `The request line and the headers are larger than ${MAX_HEADER_BYTES} bytes together`;

/** What HTTP/2 counts for a header besides the bytes of its name and value. */
const FIELD_BYTES = 32;

/**
 * Announces the limit to the clients of an HTTP/2 server. Node keeps to it once a client has confirmed the settings: it
 * resets streams with ENHANCE_YOUR_CALM, which gRPC's clients take for `resource_exhausted`.
 */
export const HEADER_SETTINGS = { maxHeaderListSize: MAX_HEADER_BYTES } as const;

/** With this `maxHeaderListPairs` the number of headers is not limited further. */
export const MAX_HEADER_PAIRS = MAX_HEADER_BYTES / FIELD_BYTES;

/** Whether what came with an HTTP/2 stream exceeds the limit. Names and values alternate in it. */
export function areHeadersTooLarge(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * FIELD_BYTES;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > MAX_HEADER_BYTES;
}

/** Resets a stream with trailers over the limit, as Node resets one whose client has confirmed the settings. */
export function refuseTrailers(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) return;
  // One function serves all streams, because hardly any stream has trailers.
  stream.on("trailers", onTrailers);
}

function onTrailers(
  this: ServerHttp2Stream,
  _trailers: IncomingHttpHeaders,
  _flags: number,
  rawTrailers: readonly string[],
): void {
  if (areHeadersTooLarge(rawTrailers)) this.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
