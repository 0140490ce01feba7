import { randomUUID } from "node:crypto";
import type { RequestFacts } from "../auth/principal.js";
import type { HttpRequest } from "./exchange.js";
import { ticketOf } from "./url-ticket.js";

/** The HTTP header, and the gRPC metadata, in which a request brings its id and an answer returns it. */
export const REQUEST_ID = "x-request-id";

/** An id is 1 to 128 visible characters of ASCII. */
const SANE_ID = /^[!-~]{1,128}$/;

/** The id of a request: the one that its client or a proxy gave it, if that is valid, and otherwise a new one. */
export function requestIdFrom(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}

/**
 * The facts about a request that the checks of all fronts need. Throws `invalid_argument` for a request whose URL must
 * not have the ticket that it has.
 */
export function factsOf(request: HttpRequest): RequestFacts {
  return {
    requestId: requestIdOf(request),
    ticket: ticketOf(request),
    header: (name) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    },
    peer: () => peerOf(request),
  };
}

/** The same facts about a request that is refused whatever its URL has. */
export function refusedFacts(request: HttpRequest): RequestFacts {
  return { requestId: requestIdOf(request), header: () => undefined, peer: () => peerOf(request) };
}

/** After a connection has ended, its address may be unavailable. */
function peerOf(request: HttpRequest): string {
  if (!("stream" in request)) return request.socket.remoteAddress ?? "unknown";
  const { session } = request.stream;
  return session === undefined || session.destroyed ? "unknown" : (session.socket.remoteAddress ?? "unknown");
}

const ID = Symbol("request id");

/** The id of a request, which stays the same however often it is asked for. */
export function requestIdOf(request: HttpRequest & { [ID]?: string }): string {
  // A property, because collecting garbage takes long with a WeakMap that gets an entry for each request.
  let id = request[ID];
  if (id === undefined) {
    const given = request.headers[REQUEST_ID];
    id = requestIdFrom(typeof given === "string" ? given : undefined);
    request[ID] = id;
  }
  return id;
}
