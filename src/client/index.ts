// What `session-pool/client` exports: a client for browsers and Node.js. It contains nothing of the server.
export { Code, ConnectError } from "@connectrpc/connect";
export { createSessionPoolClient, type SessionPoolClient, type SessionPoolClientOptions } from "./client.js";
export type { DraftOptions, DraftWriter } from "./draft.js";
export type { NumberInit, WithNumbers } from "./int64.js";
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
export type { ServiceClient } from "./service-client.js";
export type { WatchEvent, WatchOptions } from "./watch.js";
