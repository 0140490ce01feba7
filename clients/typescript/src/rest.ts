import { Code, type Interceptor } from "@connectrpc/connect";
import { codeFromHttpStatus } from "@connectrpc/connect/protocol-connect";
import { errorOf, type Server } from "./event-source.js";

export interface RestRequest extends RequestInit {
  /** Below the address, such as `/session/kyoto/attachment`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body can be read only once, so that the request is not sent again with another key. */
  readonly isOnce?: boolean;
  /** Sends the request in place of the client's fetch. */
  readonly send?: typeof globalThis.fetch;
}

/** Sends a request to a route that carries bytes; resolves to its answer. Throws the service's error. */
export type Rest = (request: RestRequest) => Promise<Response>;

/** `sendKey` is the interceptor of the other calls, with which these share keys. */
export function restOf({ address, fetch }: Server, sendKey: Interceptor | undefined): Rest {
  return async ({ path, headers, isOnce = false, send = fetch, ...init }) => {
    const signal = init.signal ?? new AbortController().signal;
    const call = async ({ header }: { readonly header: Headers }) => {
      const answer = await send(`${address}${path}`, { ...init, headers: header });
      if (answer.ok) return answer;
      const { status } = answer;
      throw errorOf(
        await answer.text(),
        status === 413 ? Code.ResourceExhausted : codeFromHttpStatus(status),
        answer.headers,
      );
    };
    // To the interceptor, a request that is sent once is a stream.
    const request = { stream: isOnce, signal, header: new Headers(headers) };
    return (await (sendKey?.(call as never) ?? call)(request as never)) as unknown as Response;
  };
}
