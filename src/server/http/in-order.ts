import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The answer to the last request that arrived on each open connection, which may not have been begun yet. */
export type LastAnswers = Map<Socket, ServerResponse>;

/** How many requests may wait on one connection: as many as an HTTP/2 connection may have streams. */
export const MAX_WAITING = 256;

const TOO_MANY_REQUESTS = 429;

type Http1Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Handles the pipelined requests of a connection one at a time, in their order. By itself, Node starts everything that
 * a client sent ahead at once: a POST would run beside the requests before it, and a few KB of requests would pile up
 * answers as large as pages while the client reads none of them. A client that sends too far ahead is disconnected:
 * each request that waits takes some KB, while the one before it, such as a watch, may take any time. So is a client
 * that has sent ahead when a request of its connection is refused for a limit of the server, because it would go on
 * asking without reading the answers.
 */
export function inOrder(handler: Http1Handler, lastAnswers: LastAnswers = new Map()): Http1Handler {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const before = lastAnswers.get(socket);
    if (before === undefined) socket.once("close", () => lastAnswers.delete(socket));
    lastAnswers.set(socket, response);
    if (before === undefined || before.closed) return handler(request, response);
    const others = waiting.get(socket) ?? 0;
    if (others >= MAX_WAITING) return void socket.destroy();
    waiting.set(socket, others + 1);
    before.once("close", () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      if (before.statusCode === TOO_MANY_REQUESTS) socket.end();
      else if (!socket.destroyed) handler(request, response);
    });
  };
}
