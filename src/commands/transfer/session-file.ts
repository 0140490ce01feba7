import type { NewChatMessage } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Todo } from "../../domain/todo.js";

/** A session as a file has it, whatever the file's format; its messages follow. */
export interface FileSession {
  readonly sessionId: string;
  readonly parentId: string;
  /** Last message that it began with, and how many those are; empty and 0 when it is no fork. */
  readonly forkPointId: string;
  readonly inheritedCount: number;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
}

/** What a file holds, in order: messages belong to the session before them. */
export type FileItem =
  | { readonly session: FileSession }
  | { readonly message: NewChatMessage }
  | { readonly todos: readonly Todo[] };

/** The first line of this program's own files; each further line is a FileItem. */
export const FILE_HEADER = { format: "session-pool", version: 1 } as const;

export function isFileHeader(value: unknown): boolean {
  return typeof value === "object" && value !== null && "format" in value && value.format === FILE_HEADER.format;
}
