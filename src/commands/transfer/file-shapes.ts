import type { NewChatMessage } from "../../domain/chat-message.js";
import { DomainError } from "../../domain/errors.js";
import type { Labels } from "../../domain/labels.js";
import { DEFAULT_LIMITS, type Limits } from "../../domain/limits.js";
import type { NewSession } from "../../domain/session.js";
import { checkId } from "../../domain/validate.js";
import { checkNewMessages } from "../../domain/validate-message.js";
import { checkNewSession } from "../../domain/validate-session.js";
import type { Numbers } from "./session-file.js";
import { boolean, integer, list, mapOf, object, oneOf, optional, type Shape, string, struct } from "./shape.js";

/**
 * The server may have had higher limits when it stored the data, which is no reason to refuse its backup. The depth is
 * what protobuf can read back.
 */
export const BACKUP_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  messageBytes: Number.POSITIVE_INFINITY,
  parts: Number.POSITIVE_INFINITY,
  batchBytes: Number.POSITIVE_INFINITY,
  idBytes: Number.POSITIVE_INFINITY,
  titleBytes: Number.POSITIVE_INFINITY,
  metadataBytes: Number.POSITIVE_INFINITY,
  labels: Number.POSITIVE_INFINITY,
  labelKeyBytes: Number.POSITIVE_INFINITY,
  labelValueBytes: Number.POSITIVE_INFINITY,
  todoCount: Number.POSITIVE_INFINITY,
  todoBytes: Number.POSITIVE_INFINITY,
  structDepth: 96,
};

export const messageShape = object({
  id: string,
  role: string,
  timestampMicros: integer(),
  parts: list(object({ id: string, type: string, text: string, data: optional(struct, undefined) })),
  metadata: optional(struct, undefined),
  originSessionId: optional(string, undefined),
});

export const todoShape = object({ id: string, content: string, status: string, priority: string });

const numbers: Shape<Numbers> = (value, path) => {
  const pair = list(integer(1))(value, path);
  const [first = 0, last = 0] = pair;
  if (pair.length !== 2 || first > last) throw new Error(`${path} must be the numbers of a first and a last message`);
  return [first, last];
};

const labels: Shape<Labels> = (value, path) => Object.fromEntries(mapOf(string)(value, path));

export const sessionShape = object({
  sessionId: string,
  title: string,
  metadata: optional(struct, undefined),
  labels: optional(labels, undefined),
  owner: optional(string, undefined),
  expireTimeMicros: optional(integer(), undefined),
  createTimeMicros: integer(),
  updateTimeMicros: integer(),
  revision: integer(1),
  parentId: optional(string, ""),
  forkPointId: optional(string, ""),
  inheritedCount: optional(integer(0), 0),
  origin: optional(
    object({
      kind: oneOf("fork", "share"),
      sourceSessionId: string,
      upToMessageId: string,
      sourceLives: boolean,
    }),
    null,
  ),
  ancestry: optional(list(object({ sessionId: string, messages: list(numbers) })), []),
  messages: list(numbers),
  undo: optional(list(numbers), null),
});

/** A session of a file written by version 0.1.0, in which all its messages follow it. */
export const oldSessionShape = object({
  sessionId: string,
  parentId: optional(string, ""),
  forkPointId: optional(string, ""),
  inheritedCount: optional(integer(0), 0),
  title: optional(string, ""),
  metadata: optional(struct, undefined),
});

/** Throws an Error for a message that no server would accept. */
export function checkMessage(message: NewChatMessage, limits: Limits): void {
  asPlainErrors(() => {
    checkId("id", message.id ?? "", limits);
    checkNewMessages([message], limits);
  });
}

/** Throws an Error for a session whose fields no server would accept. */
export function checkSession(session: NewSession & { readonly sessionId: string }, limits: Limits): void {
  asPlainErrors(() => {
    checkId("sessionId", session.sessionId, limits);
    checkNewSession(session, limits);
  });
}

export function asPlainErrors<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof DomainError) throw new Error(error.message, { cause: error });
    throw error;
  }
}
