import type { HttpRequest, HttpResponse } from "./exchange.js";

/**
 * Whether the client can no longer be reached. A request over HTTP/1.1 tells this only until its body has been read to
 * the end.
 */
export function isGone(message: HttpRequest | HttpResponse): boolean {
  return "stream" in message ? message.stream.destroyed || message.stream.closed : message.destroyed;
}
