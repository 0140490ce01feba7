/**
 * What an implementation sees of a call besides its message, and what it may add to the answer. The API has no use for
 * either, so no front shows them. `rpc-handler.ts` and `grpc-js.ts` note them by the name that the runner gives a call.
 */
import type { IncomingHttpHeaders } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";

export interface Seen {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  /** How long the client waits, as it said. */
  readonly timeoutMs: number | undefined;
  /** Has these sent with the answer. */
  add(headers: Headers, trailers: Headers): void;
  /** Called with the error that the implementation is about to throw. */
  fail(error: ConnectError): void;
}

export const CALL_NAME = "x-test-case-name";

const calls = new Map<string, Seen>();

export function show(seen: Seen): void {
  const name = seen.headers.get(CALL_NAME);
  if (name !== null) calls.set(name, seen);
}

/** The headers of a request as the runner knows them. */
export function headersSeen(received: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    if (!name.startsWith(":") && value !== undefined) headers.set(name, String(value));
  }
  return headers;
}

export function takeSeen(name: string | undefined): Seen {
  const seen = calls.get(name ?? "");
  if (seen === undefined) throw new Error(`No call has the name ${name}`);
  calls.delete(name ?? "");
  return seen;
}
