import { REQUEST_ID, requestIdFrom } from "../request-id.js";
import type { Request } from "./body.js";

const ids = new WeakMap<Request, string>();

/** The id of a request, the same for every caller. */
export function requestIdOf(request: Request): string {
  let id = ids.get(request);
  if (id === undefined) {
    const given = request.headers[REQUEST_ID];
    id = requestIdFrom(typeof given === "string" ? given : undefined);
    ids.set(request, id);
  }
  return id;
}

/** Puts the request's id into the headers of its answer, whichever front sends it. */
export function tellRequestId(request: Request, response: { setHeader(name: string, value: string): unknown }): void {
  response.setHeader(REQUEST_ID, requestIdOf(request));
}
