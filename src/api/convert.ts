import type { JsonObject as ProtoJsonObject } from "@bufbuild/protobuf";
import {
  type MessageInfo,
  type MessageWithParts,
  type Part as ProtoPart,
  type SearchHit as ProtoSearchHit,
  SearchedField,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import {
  type MessagePreview as ProtoPreview,
  type Session as ProtoSession,
  SessionView as ProtoView,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import type { Todo as ProtoTodo } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { ChatMessage, MessageChange, NewChatMessage, Part } from "../domain/chat-message.js";
import { invalidArgument } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { SearchHit } from "../domain/search.js";
import type { MessagePreview, Session, SessionView } from "../domain/session.js";
import { storedBodyOf } from "../domain/shown-message.js";
import type { Todo } from "../domain/todo.js";
import { toPartAttachment } from "./part-attachment.js";
import { fromMessageTimestamp, toTimestamp } from "./timestamps.js";
import { UndecodedMessage } from "./undecoded-message.js";
import { fromUsage, toUsage, toUsageSums } from "./usage-convert.js";

// Messages are written as literals because the generic `create` costs several times as much, and lists hold hundreds of
// messages.

export function toMessageWithParts(message: ChatMessage): MessageWithParts {
  const body = storedBodyOf(message);
  if (body !== undefined) return new UndecodedMessage(toInfo(message, undefined), body);
  return {
    $typeName: "sessionpool.v1.MessageWithParts",
    info: toInfo(message, message.metadata),
    parts: message.parts.map(toPart),
  };
}

function toInfo(message: ChatMessage, metadata: JsonObject | undefined): MessageInfo {
  return {
    $typeName: "sessionpool.v1.MessageInfo",
    id: message.id,
    role: message.role,
    timestamp: toTimestamp(message.timestampMicros),
    metadata: toStruct(metadata),
    sessionId: message.sessionId,
    position: message.position === undefined ? undefined : BigInt(message.position),
    originSessionId: message.originSessionId ?? "",
    usage: message.usage && toUsage(message.usage),
  };
}

export function toPart(part: Part): ProtoPart {
  return {
    $typeName: "sessionpool.v1.Part",
    id: part.id,
    type: part.type,
    text: part.text,
    data: toStruct(part.data),
    attachment: toPartAttachment(part.attachment),
  };
}

/** `field` names the message in errors. */
export function fromMessageWithParts(field: string, message: MessageWithParts | undefined): NewChatMessage {
  if (message === undefined) throw invalidArgument(`${field} is required`);
  const { info } = message;
  if (info === undefined) throw invalidArgument(`${field}.info is required`);
  return {
    id: info.id || undefined,
    role: info.role,
    timestampMicros: fromMessageTimestamp(`${field}.info.timestamp`, info.timestamp),
    parts: message.parts.map(fromPart),
    metadata: info.metadata,
    usage: fromUsage(`${field}.info.usage`, info.usage),
  };
}

/**
 * The fields that a message sets; an empty role or an empty list of parts counts as not set. `field` names the message
 * in errors.
 */
export function fromMessageChange(field: string, message: MessageWithParts | undefined): MessageChange {
  if (message === undefined) throw invalidArgument(`${field} is required`);
  const { info, parts } = message;
  return {
    role: info?.role || undefined,
    timestampMicros: fromMessageTimestamp(`${field}.info.timestamp`, info?.timestamp),
    parts: parts.length === 0 ? undefined : parts.map(fromPart),
    metadata: info?.metadata,
    usage: fromUsage(`${field}.info.usage`, info?.usage),
  };
}

export function fromPart(part: ProtoPart): Part {
  const { id, type, text, data, attachment } = part;
  if (attachment === undefined) return { id, type, text, data };
  const { attachmentId, mediaType, name, size, sha256 } = attachment;
  return { id, type, text, data, attachment: { attachmentId, mediaType, name, size: Number(size), sha256 } };
}

const FIELDS: Readonly<Record<NonNullable<SearchHit["field"]>, SearchedField>> = {
  text: SearchedField.TEXT,
  tool_name: SearchedField.TOOL_NAME,
  tool_input: SearchedField.TOOL_INPUT,
  tool_output: SearchedField.TOOL_OUTPUT,
  title: SearchedField.TITLE,
};

export function toSearchHit(hit: SearchHit): ProtoSearchHit {
  const { text: snippet, highlights } = hit.snippet;
  return {
    $typeName: "sessionpool.v1.SearchHit",
    sessionId: hit.sessionId,
    sessionTitle: hit.sessionTitle,
    messageId: hit.messageId,
    role: hit.role,
    timestamp: toTimestamp(hit.timestampMicros),
    position: BigInt(hit.position),
    snippet,
    highlights: highlights.map(({ start, end }) => ({ $typeName: "sessionpool.v1.TextRange", start, end })),
    partIndex: hit.part?.index,
    partType: hit.part?.type ?? "",
    field: hit.field === undefined ? SearchedField.UNSPECIFIED : FIELDS[hit.field],
  };
}

export function toSession(session: Session): ProtoSession {
  return {
    $typeName: "sessionpool.v1.Session",
    sessionId: session.sessionId,
    parentId: session.parentId,
    forkPointId: session.forkPointId,
    title: session.title,
    metadata: toStruct(session.metadata),
    createTime: toTimestamp(session.createTimeMicros),
    updateTime: toTimestamp(session.updateTimeMicros),
    messageCount: session.messageCount === undefined ? undefined : BigInt(session.messageCount),
    inheritedCount: BigInt(session.inheritedCount),
    revision: BigInt(session.revision),
    reverted: session.reverted,
    labels: session.labels ?? {},
    expireTime: optionalTime(session.expireTimeMicros),
    owner: session.owner ?? "",
    lastMessage: session.lastMessage && toPreview(session.lastMessage),
    usage: session.usage && toUsageSums(session.usage),
    inheritedUsage: session.inheritedUsage && toUsageSums(session.inheritedUsage),
    deleteTime: optionalTime(session.deleteTimeMicros),
    purgeTime: optionalTime(session.purgeTimeMicros),
  };
}

function optionalTime(micros: number | undefined): ReturnType<typeof toTimestamp> | undefined {
  return micros === undefined ? undefined : toTimestamp(micros);
}

function toPreview({ messageId, role, timestampMicros, text, usage, error = "" }: MessagePreview): ProtoPreview {
  return {
    $typeName: "sessionpool.v1.MessagePreview",
    messageId,
    role,
    timestamp: toTimestamp(timestampMicros),
    text,
    usage: usage && toUsage(usage),
    error,
  };
}

/** `field` names the view in errors. */
export function fromView(field: string, view: ProtoView): SessionView {
  switch (view) {
    case ProtoView.UNSPECIFIED:
    case ProtoView.BASIC:
      return "basic";
    case ProtoView.FULL:
      return "full";
    default:
      throw invalidArgument(`${field} is ${view}; it must be SESSION_VIEW_BASIC or SESSION_VIEW_FULL`);
  }
}

export function toTodo(todo: Todo): ProtoTodo {
  const { id, content, status, priority } = todo;
  return { $typeName: "sessionpool.v1.Todo", id, content, status, priority };
}

export function fromTodo(field: string, todo: ProtoTodo | undefined): Todo {
  if (todo === undefined) throw invalidArgument(`${field} is required`);
  const { id, content, status, priority } = todo;
  return { id, content, status, priority };
}

/** Only drops `readonly`, which the generated types lack. */
export function toStruct(struct: JsonObject | undefined): ProtoJsonObject | undefined {
  return struct as ProtoJsonObject | undefined;
}
