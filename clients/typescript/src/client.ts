import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AnnotationService } from "../../../gen/sessionpool/v1/annotation_service_pb.js";
import { AttachmentService } from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { MessageService } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { type CreateTicketResponse, SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { UsageService } from "../../../gen/sessionpool/v1/usage_service_pb.js";
import { type Download, type DownloadOptions, download } from "./download.js";
import { type DraftOptions, type DraftWriter, startDraft } from "./draft.js";
import { hasFetchStreams, openByEventSource, type Server } from "./event-source.js";
import type { WithNumbers } from "./int64.js";
import { type Key, sendingKey } from "./keys.js";
import {
  type Annotation,
  type ListAnnotationsOptions,
  type ListSessionsOptions,
  listAnnotations,
  listAttachments,
  listSessions,
  type SearchHit,
  type SearchOptions,
  type Session,
  type SumUsageOptions,
  search,
  sumUsage,
  type UsageRow,
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
import type { PageOptions } from "./pages.js";
import { type Rest, restOf } from "./rest.js";
import { createServiceClient, type ServiceClient } from "./service-client.js";
import { type Attachment, type UploadOptions, type UploadSource, upload } from "./upload.js";
import { type OpenWatch, type WatchEvent, type WatchOptions, watch } from "./watch.js";
import { type SessionsEvent, type WatchSessionsOptions, watchSessions } from "./watch-sessions.js";

export interface SessionPoolClientOptions {
  /**
   * The address of the server's HTTP port, such as `http://127.0.0.1:8080`. In a browser, the default is the page's own
   * origin.
   */
  readonly baseUrl?: string;
  /**
   * An API key or token, or a function that returns one for each call; calls at the same time share one question. The
   * function gets a signal, which is aborted when no call waits for it any more, and the key that the server has refused
   * last: a function that keeps its key makes another one when that is the one it has. Absent for a server without keys.
   */
  readonly key?: Key;
  /** A ticket, which opens one session. Must not be combined with `key`. */
  readonly ticket?: string;
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
   * Another Connect transport, for example gRPC from `@connectrpc/connect-node`. Uploads and downloads go by HTTP
   * nevertheless: beside a transport, `baseUrl`, `key`, `ticket` and `fetch` are for them.
   */
  readonly transport?: Transport;
}

/** A client of one server, for one key. Only watches hold a connection open. */
export interface SessionPoolClient {
  readonly sessions: ServiceClient<typeof SessionService>;
  readonly messages: ServiceClient<typeof MessageService>;
  readonly todos: ServiceClient<typeof TodoService>;
  /** `uploadAttachment` and `downloadAttachment` of the client move the bytes. */
  readonly attachments: ServiceClient<typeof AttachmentService>;
  /** Notes and feedback on messages. */
  readonly annotations: ServiceClient<typeof AnnotationService>;
  readonly usage: ServiceClient<typeof UsageService>;
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
   * Sums of usage by groups, in the order of SumUsage: calls, tokens, cost and time. While the service adds up, the
   * first row takes several requests.
   */
  sumUsage(options?: SumUsageOptions): AsyncGenerator<UsageRow, void, undefined>;
  /**
   * Follows a session as long as it is iterated, and reconnects after transient errors without missing or repeating
   * anything, with a fresh key if the old one has expired. Throws the service's error when the session is unknown or
   * deleted (`not_found`), the key or the arguments are refused, or the ticket has expired or was revoked
   * (`unauthenticated`). TypeError: this client cannot watch in the way that is asked for.
   */
  watch(sessionId: string, options?: WatchOptions): AsyncGenerator<WatchEvent, void, undefined>;
  /**
   * Follows all sessions, or those that the options choose, as long as it is iterated: which are created, changed and
   * deleted. Reconnects as `watch` does, and misses nothing, but may repeat the last events. Throws
   * `failed_precondition` when `resumeToken` is older than the server keeps the feed: list the sessions anew then.
   */
  watchSessions(options?: WatchSessionsOptions): AsyncGenerator<SessionsEvent, void, undefined>;
  /**
   * Stores bytes, which a part of a message of this session can then name. Sent again after a transient error unless
   * the source is a stream. Nothing is visible of an upload that did not arrive whole.
   */
  uploadAttachment(sessionId: string, source: UploadSource, options?: UploadOptions): Promise<Attachment>;
  /** An attachment, whose bytes arrive while they are read, and are resumed where a connection breaks. */
  downloadAttachment(sessionId: string, attachmentId: string, options?: DownloadOptions): Promise<Download>;
  /** The attachments that a session shows, by id, with the messages that name each, read page by page. */
  listAttachments(sessionId: string, options?: PageOptions): AsyncGenerator<Attachment, void, undefined>;
  /** Removes an attachment that nothing names: `failed_precondition` if something does. Sent once. */
  deleteAttachment(sessionId: string, attachmentId: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** The annotations of the messages that a session shows, the oldest first, read page by page. */
  listAnnotations(sessionId: string, options?: ListAnnotationsOptions): AsyncGenerator<Annotation, void, undefined>;
  /** Makes a ticket, which opens this session and nothing else, for a page without a key or for a link. */
  createTicket(sessionId: string, options: TicketOptions): Promise<Ticket>;
  /** Ends all tickets of a session, and the watches that they opened. */
  revokeTickets(sessionId: string): Promise<void>;
}

export interface TicketOptions {
  /**
   * `read` may do what reads the session; `write` may also append and update messages, write drafts, upload and delete
   * attachments, and write annotations.
   */
  readonly scope: "read" | "write";
  /** At most 30 days ahead; one hour from now when absent. */
  readonly expireTime?: Date;
  readonly signal?: AbortSignal;
}

/** A ticket, and when it ends. */
export type Ticket = WithNumbers<CreateTicketResponse>;

/**
 * Makes a client. It connects only when it is used. TypeError: `baseUrl` is no address of a server, or the credentials
 * are not what is described.
 */
export function createSessionPoolClient(options: SessionPoolClientOptions = {}): SessionPoolClient {
  const { key = options.ticket } = options;
  if (options.key !== undefined && options.ticket !== undefined)
    throw new TypeError("Give a key or a ticket, not both");
  const isWithServer = options.transport === undefined || options.baseUrl !== undefined;
  if (!isWithServer && key !== undefined)
    throw new TypeError("A transport sends its own credentials: beside it, key and ticket need baseUrl");
  const server = isWithServer ? serverOf(options) : undefined;
  const sendKey = key === undefined ? undefined : sendingKey(key);
  const transport = options.transport ?? createTransport(server as Server, sendKey);
  const rest = server === undefined ? refuseTransfer : restOf(server, sendKey);
  const policy = { retries: options.retries ?? 5, timeoutMs: options.timeoutMs };
  const messages = createServiceClient(MessageService, transport, policy);
  const sessions = createServiceClient(SessionService, transport, policy);
  const attachments = createServiceClient(AttachmentService, transport, policy);
  const usage = createServiceClient(UsageService, transport, policy);
  const annotations = createServiceClient(AnnotationService, transport, policy);
  const openStream: OpenWatch = (sessionId, start, signal) =>
    messages.watchMessages({ sessionId, ...start }, { signal });
  return {
    sessions,
    messages,
    attachments,
    annotations,
    usage,
    todos: createServiceClient(TodoService, transport, policy),
    todoTracker: createServiceClient(TodoTrackerService, transport, policy),
    append: (sessionId, added, appendOptions) => append(messages, sessionId, added, appendOptions),
    startDraft: (sessionId, message, draftOptions) => startDraft(messages, sessionId, message, draftOptions),
    history: (sessionId, historyOptions) => history(messages, sessionId, historyOptions),
    listSessions: (listOptions) => listSessions(sessions, listOptions),
    search: (q, searchOptions) => search(messages, q, searchOptions),
    sumUsage: (sumOptions) => sumUsage(usage, sumOptions),
    uploadAttachment: (sessionId, source, uploadOptions) =>
      upload(rest, policy.retries, sessionId, source, uploadOptions),
    downloadAttachment: (sessionId, attachmentId, downloadOptions) =>
      download(rest, policy.retries, sessionId, attachmentId, downloadOptions),
    listAttachments: (sessionId, pageOptions) => listAttachments(attachments, sessionId, pageOptions),
    listAnnotations: (sessionId, listOptions) => listAnnotations(annotations, sessionId, listOptions),
    deleteAttachment: async (sessionId, attachmentId, callOptions) => {
      await attachments.deleteAttachment({ sessionId, attachmentId }, callOptions);
    },
    watch: (sessionId, watchOptions = {}) => {
      const hasOtherKeys = typeof key === "function";
      const isByEventSource =
        watchOptions.eventSource ??
        (options.transport === undefined && options.fetch === undefined && !hasFetchStreams());
      const watched = options.transport === undefined ? server : undefined;
      const open = isByEventSource ? openByEventSource(watched, options.key) : openStream;
      return watch(messages, sessionId, watchOptions, { open, hasOtherKeys });
    },
    watchSessions: (watchOptions = {}) => watchSessions(sessions, watchOptions, typeof key === "function"),
    createTicket: (sessionId, { signal, ...ticketOptions }) =>
      sessions.createTicket({ sessionId, ...ticketOptions }, signal === undefined ? {} : { signal }),
    revokeTickets: async (sessionId) => {
      await sessions.revokeTickets({ sessionId });
    },
  };
}

function serverOf({ baseUrl, fetch, ticket }: SessionPoolClientOptions): Server {
  const address = (baseUrl === undefined ? pageOrigin() : checkedAddress(baseUrl)).replace(/\/+$/, "");
  return { address, ticket, fetch: namingAddress(fetch, address) };
}

/** UNIMPLEMENTED, as from a server without attachments, so that adapters do without. */
const refuseTransfer: Rest = async () => {
  const text = "Uploads and downloads go by HTTP: beside a transport, give the client baseUrl";
  throw new ConnectError(text, Code.Unimplemented);
};

function createTransport({ address, fetch }: Server, sendKey: Interceptor | undefined): Transport {
  const interceptors = sendKey === undefined ? [] : [sendKey];
  return createConnectTransport({ baseUrl: address, useBinaryFormat: true, fetch, interceptors });
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
