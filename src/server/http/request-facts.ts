import type { RequestFacts } from "../principal.js";
import type { HttpRequest } from "./listener.js";

/** What the checks of all fronts look up of a request. */
export function factsOf(request: HttpRequest): RequestFacts {
  return {
    header: (name) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    },
    peer: () => peerOf(request),
  };
}

/** Of a connection that has ended the address may be gone, too. */
function peerOf(request: HttpRequest): string {
  if (!("stream" in request)) return request.socket.remoteAddress ?? "unknown";
  const { session } = request.stream;
  return session === undefined || session.destroyed ? "unknown" : (session.socket.remoteAddress ?? "unknown");
}
