/** Stands before src/server/rpc/handler.ts in the conformance server, and shows the implementation its calls. */
import type { ServerResponse } from "node:http";
import type { HttpRequest, HttpResponse } from "../../../src/server/http/exchange.js";
import { readDeadline } from "../../../src/server/http/start-call.js";
import { createRpcHandler as create, type RpcHandler, type RpcOptions } from "../../../src/server/rpc/handler.js";
import { headersSeen, type Seen, show } from "./seen.js";

/** An answer with the trailers that build.ts makes the front send. */
type Answer = HttpResponse & { ending?: Headers };

export function createRpcHandler(options: RpcOptions): RpcHandler {
  const handle = create(options);
  return (path, request, response) => {
    show(seenOf(request, response));
    return handle(path, request, response);
  };
}

function seenOf(request: HttpRequest, response: Answer): Seen {
  const headers = headersSeen(request.headers);
  const isPlain = request.method === "GET" || headers.get("content-type") === "application/proto";
  return {
    headers,
    query: new URL(request.url ?? "/", "http://localhost").searchParams,
    // Not what is left of the deadline: the runner allows only half a second to have passed.
    get timeoutMs() {
      return readDeadline(request.headers, 0);
    },
    add(more, trailers) {
      for (const [name, value] of more) (response as ServerResponse).setHeader(name, value);
      if (!isPlain) response.ending = trailers;
      else for (const [name, value] of trailers) (response as ServerResponse).setHeader(`trailer-${name}`, value);
    },
    // The front sends a ConnectError as it is.
    fail: () => undefined,
  };
}
