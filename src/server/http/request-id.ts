import { REQUEST_ID, requestIdFrom } from "../request-id.js";
import type { Request } from "./body.js";
import type { Response } from "./respond.js";

const ids = new WeakMap<Request, string>();

/** The same for the same request, whoever asks. */
export function requestIdOf(request: Request): string {
  let id = ids.get(request);
  if (id === undefined) {
    const given = request.headers[REQUEST_ID];
    id = requestIdFrom(typeof given === "string" ? given : undefined);
    ids.set(request, id);
  }
  return id;
}

/** Has the answer tell the request's id, whichever front sends it. */
export function tellRequestId(request: Request, response: Response): void {
  response.setHeader(REQUEST_ID, requestIdOf(request));
}
