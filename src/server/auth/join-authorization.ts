import type { IncomingHttpHeaders } from "node:http2";

const NAME = "authorization";

/**
 * Joins several `Authorization` headers of an HTTP/2 request, so that they are refused. By itself Node takes the first
 * one, but a proxy may have decided by another.
 */
export function joinAuthorization(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  let joined: string | undefined;
  // HTTP/2 allows only lower case.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i] === NAME) joined = joined === undefined ? rawHeaders[i + 1] : `${joined}, ${rawHeaders[i + 1]}`;
  }
  if (joined !== headers[NAME]) headers[NAME] = joined;
}
