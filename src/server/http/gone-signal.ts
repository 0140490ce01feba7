import { setMaxListeners } from "node:events";
import type { Socket } from "node:net";
import { CallSignal } from "../call/call-signal.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { isGone } from "./is-gone.js";

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * A signal that is aborted when the client has gone. In HTTP/1 that is when its connection closes. All requests of a
 * connection share one signal, because making one costs as much as everything else that a small request needs.
 */
export function goneSignal(request: HttpRequest, response: HttpResponse): AbortSignal {
  return "stream" in request ? signalOfStream(response) : signalOfConnection(request.socket);
}

function signalOfStream(response: HttpResponse): AbortSignal {
  const gone = new CallSignal();
  const abort = () => gone.abort(new Error("The client has gone"));
  response.once("close", () => {
    if (!response.writableEnded) abort();
  });
  if (isGone(response)) abort();
  return gone;
}

function signalOfConnection(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known) return known;
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  if (socket.destroyed) gone.abort();
  // Any number of pipelined requests may listen at the same time.
  setMaxListeners(0, gone.signal);
  signals.set(socket, gone.signal);
  return gone.signal;
}
