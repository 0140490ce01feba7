import type { RequestFacts } from "../auth/principal.js";
import type { HttpRequest } from "./exchange.js";
import { requestIdOf } from "./request-id.js";

/** The facts about a request that the checks of all fronts need. */
export function factsOf(request: HttpRequest): RequestFacts {
  return {
    requestId: requestIdOf(request),
    header: (name) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    },
    peer: () => peerOf(request),
  };
}

/** After a connection has ended, its address may be unavailable. */
function peerOf(request: HttpRequest): string {
  if (!("stream" in request)) return request.socket.remoteAddress ?? "unknown";
  const { session } = request.stream;
  return session === undefined || session.destroyed ? "unknown" : (session.socket.remoteAddress ?? "unknown");
}
