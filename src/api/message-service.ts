import type {
  AppendMessageRequest,
  AppendMessageResponse,
  AppendMessagesRequest,
  AppendMessagesResponse,
  CopyMessagesRequest,
  CopyMessagesResponse,
  CountMessagesRequest,
  CountMessagesResponse,
  DeleteMessageRequest,
  DeleteMessageResponse,
  EraseMessageRequest,
  EraseMessageResponse,
  GetMessageRequest,
  ListMessagesRequest,
  ListMessagesResponse,
  MessageService,
  MessageWithParts,
  SearchMessagesRequest,
  SearchMessagesResponse,
  TruncateMessagesRequest,
  TruncateMessagesResponse,
  UpdateMessageRequest,
  WatchMessagesRequest,
  WatchMessagesResponse,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import type { MessageChange } from "../domain/chat-message.js";
import { invalidArgument, notFound } from "../domain/errors.js";
import type { FollowPosition, MessageQuery } from "../domain/page.js";
import { pageLimit } from "../domain/validate-page.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf, exactCount, keptOf, listScope, optionalText, ownerFilter } from "./call-options.js";
import { fromMessageChange, fromMessageWithParts, toMessageWithParts, toSearchHit } from "./convert.js";
import { discardDraft, extendDraft, finishDraft, listDrafts, startDraft } from "./draft-handlers.js";
import { maskedFields } from "./field-mask.js";
import { mapEach } from "./limited-access.js";
import {
  decodeMessageToken,
  decodeResumeToken,
  decodeSearchToken,
  encodeMessageToken,
  encodeSearchToken,
} from "./page-token.js";
import { sharingLast } from "./sharing-last.js";
import { checkBoundsOrder, fromBoundTimestamp } from "./timestamps.js";
import { toWatchResponse } from "./watch-convert.js";

export const messageMethods: ServiceMethods<typeof MessageService> = {
  appendMessage: { scope: "write", ticket: "write", handle: appendMessage },
  appendMessages: { scope: "write", ticket: "write", handle: appendMessages },
  getMessage: { scope: "read", ticket: "read", handle: getMessage },
  listMessages: { scope: "read", ticket: "read", handle: listMessages },
  searchMessages: { scope: "read", ticket: "read", handle: searchMessages },
  countMessages: { scope: "read", ticket: "read", handle: countMessages },
  copyMessages: { scope: "write", ticket: "none", handle: copyMessages },
  truncateMessages: { scope: "write", ticket: "none", handle: truncateMessages },
  updateMessage: { scope: "write", ticket: "write", handle: updateMessage },
  deleteMessage: { scope: "write", ticket: "none", handle: deleteMessage },
  eraseMessage: { scope: "admin", ticket: "none", handle: eraseMessage },
  watchMessages: { scope: "read", ticket: "read", handle: watchMessages },
  startDraft: { scope: "write", ticket: "write", handle: startDraft },
  // What starts and ends a draft is in the audit log, and not each of its deltas.
  extendDraft: { scope: "write", ticket: "write", isAudited: false, handle: extendDraft },
  finishDraft: { scope: "write", ticket: "write", handle: finishDraft },
  discardDraft: { scope: "write", ticket: "write", handle: discardDraft },
  listDrafts: { scope: "read", ticket: "read", handle: listDrafts },
};

async function appendMessage(request: AppendMessageRequest, context: ApiContext): Promise<AppendMessageResponse> {
  const message = fromMessageWithParts("message", request.message);
  const { messageIds, position } = await context.rootPool.sessions.appendMessages(request.sessionId, [message], {
    expectedPosition: exactCount("expected_position", request.expectedPosition),
    createSession: request.createSession,
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.AppendMessageResponse",
    messageId: messageIds[0] as string,
    position: BigInt(position),
  };
}

async function appendMessages(request: AppendMessagesRequest, context: ApiContext): Promise<AppendMessagesResponse> {
  const messages = request.messages.map((message, i) => fromMessageWithParts(`messages[${i}]`, message));
  const { messageIds, position } = await context.rootPool.sessions.appendMessages(request.sessionId, messages, {
    expectedPosition: exactCount("expected_position", request.expectedPosition),
    createSession: request.createSession,
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.AppendMessagesResponse",
    messageIds: [...messageIds],
    position: BigInt(position),
  };
}

async function getMessage(request: GetMessageRequest, context: ApiContext): Promise<MessageWithParts> {
  const { sessionId, messageId } = request;
  const message = await context.rootPool.sessions.getMessage(sessionId, messageId, callOf(context));
  if (message === null) throw notFound("Message", messageId);
  return toMessageWithParts(message);
}

async function listMessages(request: ListMessagesRequest, context: ApiContext): Promise<ListMessagesResponse> {
  const { sessionId, offset, pageToken } = request;
  if (offset !== undefined && pageToken !== "") throw invalidArgument("offset and page_token exclude each other");
  const page = await context.rootPool.sessions.listMessages(sessionId, {
    ...queryOf(request),
    limit: pageLimit(request.limit, context.limits),
    offset,
    cursor: pageToken === "" ? undefined : decodeMessageToken(pageToken),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.ListMessagesResponse",
    messages: page.messages.map(toMessageWithParts),
    nextPageToken: page.next === undefined ? "" : encodeMessageToken(page.next),
  };
}

function queryOf({ newestFirst, includeAncestors, since, until }: ListMessagesRequest): MessageQuery {
  const sinceMicros = fromBoundTimestamp("since", since);
  const untilMicros = fromBoundTimestamp("until", until);
  checkBoundsOrder(since, until);
  return { newestFirst, includeAncestors, sinceMicros, untilMicros };
}

async function countMessages(request: CountMessagesRequest, context: ApiContext): Promise<CountMessagesResponse> {
  const count = await context.rootPool.sessions.getMessageCount(request.sessionId, callOf(context));
  return { $typeName: "sessionpool.v1.CountMessagesResponse", count: BigInt(count) };
}

async function copyMessages(request: CopyMessagesRequest, context: ApiContext): Promise<CopyMessagesResponse> {
  const { sessionId, targetSessionId } = request;
  const copy = await context.rootPool.sessions.copyMessagesCounted(sessionId, targetSessionId, {
    upToMessageId: optionalText(request.upToMessageId),
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.CopyMessagesResponse",
    forkPointId: copy.forkPointId ?? undefined,
    copiedCount: BigInt(copy.copiedCount),
  };
}

async function truncateMessages(
  request: TruncateMessagesRequest,
  context: ApiContext,
): Promise<TruncateMessagesResponse> {
  const removed = await context.rootPool.sessions.truncateMessages(request.sessionId, keptOf(request), {
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    ...callOf(context),
  });
  return { $typeName: "sessionpool.v1.TruncateMessagesResponse", removedCount: BigInt(removed) };
}

async function updateMessage(request: UpdateMessageRequest, context: ApiContext): Promise<MessageWithParts> {
  const { sessionId, messageId } = request;
  const message = await context.rootPool.sessions.updateMessage(sessionId, messageId, changeOf(request), {
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    ...callOf(context),
  });
  return toMessageWithParts(message);
}

/** A field that the mask names is emptied when the request does not set it. */
function changeOf(request: UpdateMessageRequest): MessageChange {
  const { messageId, message } = request;
  const id = message?.info?.id ?? "";
  if (id !== "" && id !== messageId) {
    throw invalidArgument(`message.info.id is ${JSON.stringify(id)}; it must be that of the message, or empty`);
  }
  const { timestampMicros, ...set } = fromMessageChange("message", message);
  const fields = maskedFields(request);
  if (fields === undefined) return { ...set, timestampMicros };
  return {
    role: fields.includes("info.role") ? (set.role ?? "") : undefined,
    parts: fields.includes("parts") ? (set.parts ?? []) : undefined,
    metadata: fields.includes("info.metadata") ? (set.metadata ?? {}) : undefined,
    usage: fields.includes("info.usage") ? (set.usage ?? {}) : undefined,
  };
}

async function deleteMessage(request: DeleteMessageRequest, context: ApiContext): Promise<DeleteMessageResponse> {
  const { sessionId, messageId } = request;
  await context.rootPool.sessions.deleteMessage(sessionId, messageId, {
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    ...callOf(context),
  });
  return { $typeName: "sessionpool.v1.DeleteMessageResponse" };
}

async function eraseMessage(
  { sessionId, messageId }: EraseMessageRequest,
  context: ApiContext,
): Promise<EraseMessageResponse> {
  const { copies } = await context.rootPool.sessions.eraseMessage(sessionId, messageId, callOf(context));
  return { $typeName: "sessionpool.v1.EraseMessageResponse", copyCount: BigInt(copies) };
}

async function searchMessages(request: SearchMessagesRequest, context: ApiContext): Promise<SearchMessagesResponse> {
  const { q, label: labels, sessionId, pageToken } = request;
  const owner = ownerFilter(request);
  const times = {
    sinceMicros: fromBoundTimestamp("since", request.since),
    untilMicros: fromBoundTimestamp("until", request.until),
  };
  checkBoundsOrder(request.since, request.until);
  const role = optionalText(request.role);
  const filter = { ...listScope(context, owner), q, labels, sessionId, role, ...times };
  const page = await context.rootPool.sessions.searchMessages({
    q,
    labels,
    owner,
    sessionId: optionalText(sessionId),
    role,
    ...times,
    limit: pageLimit(request.limit, context.limits),
    cursor: pageToken === "" ? undefined : decodeSearchToken(pageToken, filter),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.SearchMessagesResponse",
    hits: page.hits.map(toSearchHit),
    nextPageToken: page.next === undefined ? "" : encodeSearchToken(page.next, filter),
  };
}

async function watchMessages(
  request: WatchMessagesRequest,
  context: ApiContext,
): Promise<AsyncIterable<WatchMessagesResponse>> {
  const from = startOf(request);
  const events = await context.rootPool.sessions.followMessages(request.sessionId, from, callOf(context));
  return mapEach(events, toSharedResponse);
}

const toSharedResponse = sharingLast(toWatchResponse);

function startOf({ fromPosition, resumeToken }: WatchMessagesRequest): number | FollowPosition | undefined {
  if (resumeToken === "") return exactCount("from_position", fromPosition);
  if (fromPosition !== undefined) throw invalidArgument("from_position and resume_token exclude each other");
  return decodeResumeToken(resumeToken);
}
