import type { Request } from "./body.js";
import type { Response } from "./respond.js";

/**
 * Whether the client can no longer be reached. A request over HTTP/1.1 tells this only until its body has been read to
 * the end.
 */
export function isGone(message: Request | Response): boolean {
  return "stream" in message ? message.stream.destroyed || message.stream.closed : message.destroyed;
}
