import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** The answer to a request. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** A request, and the answer to it. */
export interface HttpExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}
