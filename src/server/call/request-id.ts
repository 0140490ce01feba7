import { randomUUID } from "node:crypto";

/** The HTTP header, and the gRPC metadata, in which a request brings its id and an answer returns it. */
export const REQUEST_ID = "x-request-id";

/** An id is 1 to 128 visible characters of ASCII. */
const SANE_ID = /^[!-~]{1,128}$/;

/** The id of a request: the one that its client or a proxy gave it, if that is valid, and otherwise a new one. */
export function requestIdFrom(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}
