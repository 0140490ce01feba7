import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The answer to the last request that arrived on a connection, which may not have been begun yet. */
export type LastAnswers = WeakMap<Socket, ServerResponse>;

type Http1Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Handles one request of a connection at a time. By itself, Node starts everything that a client sent ahead at once: a
 * POST would run beside the requests before it, and a few KB of requests would pile up answers as large as pages while
 * the client reads none of them.
 */
export function inTurn(handler: Http1Handler, lastAnswers: LastAnswers = new WeakMap()): Http1Handler {
  return (request, response) => {
    const { socket } = request;
    const before = lastAnswers.get(socket);
    lastAnswers.set(socket, response);
    if (before === undefined || before.closed) return handler(request, response);
    before.once("close", () => {
      if (!socket.destroyed) handler(request, response);
    });
  };
}
