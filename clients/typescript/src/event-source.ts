import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus } from "@connectrpc/connect/protocol-connect";
import { WatchMessagesResponseSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { withNumbers } from "./int64.js";
import type { Key } from "./keys.js";
import type { OpenWatch, WatchEvent } from "./watch.js";

/** Where a client's requests go. */
export interface Server {
  readonly address: string;
  readonly fetch: typeof globalThis.fetch;
  readonly ticket?: string | undefined;
}

/** What is used of a browser's EventSource. */
interface Source {
  readonly readyState: number;
  addEventListener(type: string, listener: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

const CLOSED = 2;

/** Whether answers of `fetch` can be read while they arrive. */
export function hasFetchStreams(): boolean {
  return typeof ReadableStream === "function" && typeof Response === "function" && "body" in Response.prototype;
}

/** Watches by Server-Sent Events. TypeError: this is not possible here. */
export function openByEventSource(server: Server | undefined, key: Key | undefined): OpenWatch {
  if (server === undefined) throw new TypeError("A watch by EventSource cannot use a transport");
  if (key !== undefined) throw new TypeError("EventSource sends no key: make a client with a ticket for this watch");
  const { address, fetch, ticket } = server;
  const { EventSource } = globalThis as { EventSource?: new (url: string) => Source };
  if (EventSource === undefined) throw new TypeError("There is no EventSource here");
  return (sessionId, start, signal) => {
    const query = new URLSearchParams();
    if ("resumeToken" in start) query.set("resume_token", start.resumeToken);
    else query.set("from_position", `${start.fromPosition}`);
    if (ticket !== undefined) query.set("ticket", ticket);
    const url = `${address}/session/${encodeURIComponent(sessionId)}/message:watch?${query}`;
    return eventsOf(new EventSource(url), () => whyRefused(url, fetch, signal), signal);
  };
}

/**
 * One connection. An EventSource would connect again by itself, but with the ticket and the delay that it has, and
 * without telling why it cannot; so each connection gets an EventSource of its own, which ends with the first error.
 */
async function* eventsOf(
  source: Source,
  whyClosed: () => Promise<ConnectError>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  const events: WatchEvent[] = [];
  let end: (() => Promise<unknown>) | undefined;
  let wake = () => {};
  const endWith = (reason: () => Promise<unknown>) => {
    end ??= reason;
    source.close();
    wake();
  };
  const onAbort = () => endWith(async () => signal.reason);
  for (const { localName } of WatchMessagesResponseSchema.fields.filter(({ oneof }) => oneof !== undefined)) {
    source.addEventListener(localName, ({ data }) => {
      try {
        const event = fromJsonString(WatchMessagesResponseSchema, `${data}`, { ignoreUnknownFields: true });
        events.push(withNumbers(WatchMessagesResponseSchema, event));
        wake();
      } catch (error) {
        endWith(async () => error);
      }
    });
  }
  source.addEventListener("error", ({ data }) => {
    // The service's own errors have data. Without, the state tells an answer with an error from a lost connection.
    if (typeof data === "string") endWith(async () => errorOf(data, Code.Unknown));
    else if (source.readyState === CLOSED) endWith(whyClosed);
    else endWith(async () => new ConnectError("The connection was lost", Code.Unavailable));
  });
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) yield event;
      else if (end !== undefined) throw await end();
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    source.close();
  }
}

/** Sends the request of an EventSource once more, because pages cannot see the status and the text of its answer. */
async function whyRefused(url: string, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<ConnectError> {
  try {
    const answer = await fetch(url, { headers: { Accept: "text/event-stream" }, signal });
    if (!answer.ok) return errorOf(await answer.text(), codeFromHttpStatus(answer.status), answer.headers);
    await answer.body?.cancel();
    return new ConnectError("The stream ended", Code.Unavailable);
  } catch (error) {
    return ConnectError.from(error, Code.Unavailable);
  }
}

/** The error that REST describes as JSON; one with this code if something else than the service has answered. */
export function errorOf(json: string, code: Code, headers?: Headers): ConnectError {
  try {
    const error = JSON.parse(json) as { code: Code; message: string };
    if (Code[error.code] !== undefined) return new ConnectError(error.message, error.code, headers);
  } catch {
    // It is no JSON, and so not the service's.
  }
  return new ConnectError("The request was refused", code, headers);
}
