import type { HttpResponse } from "./exchange.js";

/** Headers of an answer, by their names in lower case. */
export type Headers = Record<string, string | number>;

/**
 * Keeps caches from giving an answer to a caller with another key, or with none. An answer that says itself how long it
 * may be kept is for everybody.
 */
export function addCaching(response: HttpResponse, headers: Headers): void {
  const isForEverybody = headers["cache-control"] !== undefined;
  headers["cache-control"] ??= "no-store";
  // Set before, for example for CORS.
  const already = response.getHeader("vary");
  const own = isForEverybody ? [] : ["Authorization"];
  headers.vary = [already, headers.vary, ...own].filter((name) => name !== undefined).join(", ");
}

/** The same for an answer whose head is written by hand. */
export const PRIVATE_HEADERS = ["cache-control: no-store", "vary: Authorization"];
