// What `session-pool-client` exports: a client for browsers and Node.js. It contains nothing of the server.
export { Code, ConnectError } from "@connectrpc/connect";
export { SearchedField } from "../../../gen/sessionpool/v1/message_service_pb.js";
export { SessionView } from "../../../gen/sessionpool/v1/session_service_pb.js";
export {
  createSessionPoolClient,
  type SessionPoolClient,
  type SessionPoolClientOptions,
  type Ticket,
  type TicketOptions,
} from "./client.js";
export { ConflictError, type Current } from "./conflict-error.js";
export { dateOf, timestampOf } from "./dates.js";
export type { Download, DownloadedAttachment, DownloadOptions } from "./download.js";
export type { DraftOptions, DraftWriter } from "./draft.js";
export type { NumberInit, WithNumbers } from "./int64.js";
export type {
  Annotation,
  ListAnnotationsOptions,
  ListSessionsOptions,
  SearchHit,
  SearchOptions,
  Session,
  SumUsageOptions,
  UsageRow,
} from "./lists.js";
export {
  type Appended,
  type AppendOptions,
  type HistoryOptions,
  type NewMessage,
  type StoredMessage,
  type TextOptions,
  text,
  textOf,
} from "./messages.js";
export type { PageOptions } from "./pages.js";
export type { ServiceClient } from "./service-client.js";
export type { Attachment, UploadOptions, UploadSource } from "./upload.js";
export type { WatchEvent, WatchOptions } from "./watch.js";
export type { SessionsEvent, WatchSessionsOptions } from "./watch-sessions.js";
