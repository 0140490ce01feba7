import type { Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Labels } from "../../domain/labels.js";
import type { ImageOrigin } from "../../domain/session-image.js";
import type { Todo } from "../../domain/todo.js";

/**
 * The first line of an export. Each further line is a FileItem: every session is followed by the messages that it is
 * the first to name, and the last line holds the todos. Messages are numbered from 1 in the order of the file, and
 * sessions name them by number, so that messages which several sessions share are written once.
 */
export const FILE_HEADER = { format: "session-pool", version: 2 } as const;

/** A file of several namespaces has one such line before the sessions of each. */
export interface FileHeader {
  readonly format: typeof FILE_HEADER.format;
  readonly version: typeof FILE_HEADER.version;
  /** Absent in a file of one namespace, which may be imported to any. */
  readonly namespace?: string | undefined;
}

/** The numbers of the first and the last message, inclusive. */
export type Numbers = readonly [first: number, last: number];

/** A session in the file. Empty fields are left out. */
export interface FileSession {
  readonly sessionId: string;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  readonly labels?: Labels | undefined;
  readonly owner?: string | undefined;
  readonly expireTimeMicros?: number | undefined;
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
  readonly revision: number;
  readonly parentId?: string | undefined;
  readonly forkPointId?: string | undefined;
  readonly inheritedCount?: number | undefined;
  readonly origin?: ImageOrigin | undefined;
  readonly ancestry?: readonly { readonly sessionId: string; readonly messages: readonly Numbers[] }[] | undefined;
  readonly messages: readonly Numbers[];
  readonly undo?: readonly Numbers[] | undefined;
}

export interface FileMessage {
  readonly id: string;
  readonly role: string;
  readonly timestampMicros: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  /** The session that it was first written to, unless that is the session before it in the file. */
  readonly originSessionId?: string | undefined;
}

export type FileItem =
  | { readonly session: FileSession }
  | { readonly message: FileMessage }
  | { readonly todos: readonly Todo[] };

/** A number of sessions as an export names it: `19,998 sessions`. */
export function countSessions(count: number): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? "session" : "sessions"}`;
}

export function countNamespaces(count: number): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? "namespace" : "namespaces"}`;
}
