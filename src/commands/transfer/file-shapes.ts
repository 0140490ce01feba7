import { checkNewAnnotation, type StoredAnnotation } from "../../domain/annotation.js";
import { type Attachment, checkNewAttachment } from "../../domain/attachment.js";
import type { NewChatMessage, PartAttachment } from "../../domain/chat-message.js";
import { DomainError } from "../../domain/errors.js";
import type { Labels } from "../../domain/labels.js";
import { DEFAULT_LIMITS, type Limits } from "../../domain/limits.js";
import type { NewSession } from "../../domain/session.js";
import type { Todo } from "../../domain/todo.js";
import { checkId, checkText } from "../../domain/validate.js";
import { checkNewMessages } from "../../domain/validate-message.js";
import { checkNewSession } from "../../domain/validate-session.js";
import { checkTodos } from "../../domain/validate-todos.js";
import type { NamedNumber, Numbers } from "./session-file.js";
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
  messageAttachments: Number.POSITIVE_INFINITY,
  attachmentBytes: Number.POSITIVE_INFINITY,
  sessionAttachmentBytes: Number.POSITIVE_INFINITY,
};

/** A number of bytes, which protobuf's JSON has as a text. */
const byteCount: Shape<number> = (value, path) =>
  integer(0)(typeof value === "string" && /^[0-9]{1,16}$/.test(value) ? Number(value) : value, path);

const partAttachment: Shape<PartAttachment> = (value, path) => {
  const { missing, ...rest } = partAttachmentFields(value, path);
  return { ...rest, missing: missing || undefined };
};

const partAttachmentFields = object({
  attachmentId: string,
  mediaType: string,
  name: string,
  size: byteCount,
  sha256: string,
  missing: optional(boolean, false),
});

const namedNumber: Shape<NamedNumber> = (value, path) => {
  const [attachmentId, number, ...more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (more.length > 0) throw new Error(`${path} must be the id of an attachment and its number`);
  return [string(attachmentId, `${path}[0]`), integer(1)(number, `${path}[1]`)];
};

const usage = object({
  model: optional(string, undefined),
  provider: optional(string, undefined),
  inputTokens: optional(integer(0), undefined),
  outputTokens: optional(integer(0), undefined),
  cachedInputTokens: optional(integer(0), undefined),
  reasoningTokens: optional(integer(0), undefined),
  cost: optional(string, undefined),
  currency: optional(string, undefined),
  startTimeMicros: optional(integer(), undefined),
  firstTokenTimeMicros: optional(integer(), undefined),
  durationMicros: optional(integer(0), undefined),
});

export const messageShape = object({
  id: string,
  role: string,
  timestampMicros: integer(),
  parts: list(
    object({
      id: string,
      type: string,
      text: string,
      data: optional(struct, undefined),
      attachment: optional(partAttachment, undefined),
    }),
  ),
  metadata: optional(struct, undefined),
  usage: optional(usage, undefined),
  originSessionId: optional(string, undefined),
  attachments: optional(list(namedNumber), []),
});

export const attachmentShape = object({
  attachmentId: string,
  mediaType: string,
  name: string,
  size: integer(0),
  sha256: string,
  createTimeMicros: integer(),
});

const todoShape = object({ id: string, content: string, status: string, priority: string });

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
  annotations: optional(
    list(
      object({
        annotationId: string,
        messageId: string,
        thumb: oneOf("", "up", "down"),
        text: string,
        author: string,
        createTimeMicros: integer(),
        updateTimeMicros: integer(),
        originSessionId: string,
        messageTimestampMicros: integer(),
      }),
    ),
    undefined,
  ),
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

/** Throws an Error for annotations that no server would accept. */
export function checkAnnotations(annotations: readonly StoredAnnotation[]): void {
  const ids = new Set(annotations.map(({ annotationId }) => annotationId));
  if (ids.size < annotations.length) throw new Error("it has one annotation twice");
  asPlainErrors(() => {
    for (const annotation of annotations) {
      checkId("annotation.annotation_id", annotation.annotationId, BACKUP_LIMITS);
      checkNewAnnotation(annotation, BACKUP_LIMITS);
      checkText("annotation.originSessionId", annotation.originSessionId);
    }
  });
}

/** Throws an Error for an attachment that no server would accept. */
export function checkAttachment(attachment: Attachment, limits: Limits): void {
  asPlainErrors(() => {
    checkId("attachmentId", attachment.attachmentId, limits);
    checkNewAttachment(attachment, limits);
  });
  if (!/^[0-9a-f]{64}$/.test(attachment.sha256)) throw new Error("sha256 must have 64 digits in lower case");
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

/** The todos of a file, checked. */
export function todosOf(value: unknown): readonly Todo[] {
  const todos = list(todoShape)(value, "todos");
  asPlainErrors(() => checkTodos(todos, BACKUP_LIMITS));
  return todos;
}
