import { randomUUID } from "node:crypto";

/** Header of HTTP, and metadata of gRPC, in which an id comes and is sent back. */
export const REQUEST_ID = "x-request-id";

/** 1 to 128 visible characters of ASCII. */
const SANE_ID = /^[!-~]{1,128}$/;

/** What a proxy or a client calls the request; one that they give no sane name gets one here. */
export function requestIdFrom(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}
