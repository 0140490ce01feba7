import { REQUEST_ID, requestIdFrom } from "../call/request-id.js";
import type { HttpRequest } from "./exchange.js";

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
