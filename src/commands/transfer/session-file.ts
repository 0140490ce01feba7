import type { StoredAnnotation } from "../../domain/annotation.js";
import type { Attachment } from "../../domain/attachment.js";
import type { Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Labels } from "../../domain/labels.js";
import type { ImageOrigin } from "../../domain/session-image.js";
import type { Todo } from "../../domain/todo.js";
import type { Usage } from "../../domain/usage.js";

/**
 * The first line of an export. Each further line is a FileItem: every session is followed by the messages that it is
 * the first to name, these by the attachments that they are the first to name, each with its bytes, and the last line
 * holds the todos. Messages and attachments are numbered from 1 in the order of the file. Sessions name messages, and
 * messages attachments, by number, so that what several of them share is written once.
 */
export const FILE_HEADER = { format: "session-pool", version: 4 } as const;

/**
 * The versions that are read in the same way. Files of version 2 have no attachments, and files of version 3 neither
 * annotations nor usage.
 */
export const FILE_VERSIONS: readonly unknown[] = [2, 3, FILE_HEADER.version];

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
  readonly annotations?: readonly StoredAnnotation[] | undefined;
}

export interface FileMessage {
  readonly id: string;
  readonly role: string;
  readonly timestampMicros: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  readonly usage?: Usage | undefined;
  /** The session that it was first written to, unless that is the session before it in the file. */
  readonly originSessionId?: string | undefined;
  /** The attachments in the file that it names. */
  readonly attachments?: readonly NamedNumber[] | undefined;
}

/** An attachment by the id that a message calls it, and by its number in the file. */
export type NamedNumber = readonly [attachmentId: string, number: number];

export type FileItem =
  | { readonly session: FileSession }
  | { readonly message: FileMessage }
  | { readonly attachment: Attachment }
  /** At most PIECE_BYTES of the attachment before it, in base64. */
  | { readonly piece: string }
  | { readonly todos: readonly Todo[] };

/** A number of sessions as an export names it: `19,998 sessions`. */
export function countSessions(count: number): string {
  return countOf(count, "session");
}

export function countNamespaces(count: number): string {
  return countOf(count, "namespace");
}

/** A number of things whose plural ends in s. */
export function countOf(count: number, what: string): string {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}
