import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { MessageService } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { type DraftOptions, type DraftWriter, startDraft } from "./draft.js";
import {
  type ListSessionsOptions,
  listSessions,
  type SearchHit,
  type SearchOptions,
  type Session,
  search,
} from "./lists.js";
import {
  type Appended,
  type AppendOptions,
  append,
  type HistoryOptions,
  history,
  type NewMessage,
  type StoredMessage,
} from "./messages.js";
import { createServiceClient, type ServiceClient } from "./service-client.js";
import { type WatchEvent, type WatchOptions, watch } from "./watch.js";

type Key = string | ((signal: AbortSignal) => string | Promise<string>);

export interface SessionPoolClientOptions {
  /**
   * The address of the server's HTTP port, such as `http://127.0.0.1:8080`. In a browser, the default is the page's own
   * origin.
   */
  readonly baseUrl?: string;
  /**
   * An API key or token, or a function that returns one for each call. Absent for a server without keys. The function's
   * signal is aborted when the call is canceled or its time is over; the call does not wait for it any longer.
   */
  readonly key?: Key;
  /** The most times that a call which is safe to repeat is sent again after a transient error; 5 when absent. */
  readonly retries?: number;
  /**
   * The time for each unary call, all its attempts together; unlimited when absent. A call's own `timeoutMs` takes
   * precedence.
   */
  readonly timeoutMs?: number;
  /** Sends the requests; the global `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Another Connect transport, for example gRPC from `@connectrpc/connect-node`. Excludes `baseUrl`, `key` and `fetch`.
   */
  readonly transport?: Transport;
}

/** A client of one server, for one key. Only watches hold a connection open. */
export interface SessionPoolClient {
  readonly sessions: ServiceClient<typeof SessionService>;
  readonly messages: ServiceClient<typeof MessageService>;
  readonly todos: ServiceClient<typeof TodoService>;
  /** Served only by the gRPC port, so it needs a `transport` that speaks gRPC. */
  readonly todoTracker: ServiceClient<typeof TodoTrackerService>;
  /**
   * Appends one message, or up to 1,000 messages of at most 8 MiB in total, all or nothing. Repeated with the same ids
   * after a transient error.
   */
  append(sessionId: string, messages: NewMessage | readonly NewMessage[], options?: AppendOptions): Promise<Appended>;
  /**
   * Begins a message that is written piece by piece, while a model streams it, for everyone who watches the session.
   */
  startDraft(sessionId: string, message: NewMessage, options?: DraftOptions): Promise<DraftWriter>;
  /** All messages of a session, read page by page while they are iterated. */
  history(sessionId: string, options?: HistoryOptions): AsyncGenerator<StoredMessage, void, undefined>;
  /** All sessions, the most recently updated first, read page by page while they are iterated. */
  listSessions(options?: ListSessionsOptions): AsyncGenerator<Session, void, undefined>;
  /**
   * All messages that hold the words `q`, in the order of SearchMessages, read page by page while they are iterated.
   * Throws `unimplemented` if the server has no index.
   */
  search(q: string, options?: SearchOptions): AsyncGenerator<SearchHit, void, undefined>;
  /**
   * Follows a session as long as it is iterated, and reconnects after transient errors without missing or repeating
   * anything. Throws the service's error when the session is unknown or deleted (`not_found`), or the key or the
   * arguments are refused.
   */
  watch(sessionId: string, options?: WatchOptions): AsyncGenerator<WatchEvent, void, undefined>;
}

/** Makes a client. It connects only when it is used. TypeError: `baseUrl` is no address of a server. */
export function createSessionPoolClient(options: SessionPoolClientOptions = {}): SessionPoolClient {
  const transport = options.transport ?? createTransport(options);
  const policy = { retries: options.retries ?? 5, timeoutMs: options.timeoutMs };
  const messages = createServiceClient(MessageService, transport, policy);
  const sessions = createServiceClient(SessionService, transport, policy);
  return {
    sessions,
    messages,
    todos: createServiceClient(TodoService, transport, policy),
    todoTracker: createServiceClient(TodoTrackerService, transport, policy),
    append: (sessionId, added, appendOptions) => append(messages, sessionId, added, appendOptions),
    startDraft: (sessionId, message, draftOptions) => startDraft(messages, sessionId, message, draftOptions),
    history: (sessionId, historyOptions) => history(messages, sessionId, historyOptions),
    listSessions: (listOptions) => listSessions(sessions, listOptions),
    search: (q, searchOptions) => search(messages, q, searchOptions),
    watch: (sessionId, watchOptions) => watch(messages, sessionId, watchOptions),
  };
}

function createTransport({ baseUrl, key, fetch }: SessionPoolClientOptions): Transport {
  const address = (baseUrl === undefined ? pageOrigin() : checkedAddress(baseUrl)).replace(/\/+$/, "");
  return createConnectTransport({
    baseUrl: address,
    useBinaryFormat: true,
    fetch: namingAddress(fetch, address),
    interceptors: [
      (next) => async (request) => {
        if (key !== undefined) {
          request.header.set("Authorization", `Bearer ${await keyFor(request.signal, key)}`);
        }
        return next(request);
      },
    ],
  });
}

/** Rejects when the call has ended, even if the function never answers. */
async function keyFor(signal: AbortSignal, key: Key): Promise<string> {
  if (typeof key === "string") return key;
  let end = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    end = () => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
  try {
    return await Promise.race([ended, key(signal)]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** In a browser, an address may also be a path on the page's own server. */
function checkedAddress(baseUrl: string): string {
  const isPath = baseUrl.startsWith("/") && "location" in globalThis;
  if (isPath || (/^https?:\/\//i.test(baseUrl) && URL.canParse(baseUrl))) return baseUrl;
  throw new TypeError(`baseUrl must be an address with http:// or https://, and is ${JSON.stringify(baseUrl)}`);
}

/** Makes a fetch whose error says which server could not be reached, and why. */
function namingAddress(fetch: typeof globalThis.fetch | undefined, address: string): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await (fetch ?? globalThis.fetch)(input, init);
    } catch (error) {
      // fetch throws a TypeError when it gets no answer.
      if (!(error instanceof TypeError)) throw error;
      throw new ConnectError(`${address}: ${reasonOf(error)}`, Code.Unavailable, undefined, undefined, error);
    }
  };
}

/** The text of the innermost cause. An error for several addresses has one of its own for each. */
function reasonOf(error: Error): string {
  const { message, cause } = error;
  if (cause instanceof Error) return reasonOf(cause);
  return error instanceof AggregateError ? error.errors.map(({ message }) => message).join(", ") : message;
}

function pageOrigin(): string {
  const { location } = globalThis as { location?: { origin: string } };
  if (location === undefined) throw new TypeError("baseUrl is required outside a browser");
  return location.origin;
}
