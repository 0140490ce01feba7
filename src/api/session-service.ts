import type {
  CreateSessionRequest,
  DeleteSessionRequest,
  DeleteSessionResponse,
  ForkSessionRequest,
  ForkSessionResponse,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  LoadSessionResponse,
  RevertSessionRequest,
  RevertSessionResponse,
  Session,
  SessionService,
  ShareSessionRequest,
  UnrevertSessionRequest,
  UnrevertSessionResponse,
  UpdateSessionRequest,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import type { SessionChange } from "../domain/session.js";
import { parseOrder, parseTitleFilter } from "../domain/session-order.js";
import { pageLimit } from "../domain/validate-page.js";
import type { ForkedSession } from "../pool/session-pool-types.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf, exactCount, keptOf, listScope, optionalText, ownerFilter } from "./call-options.js";
import { fromView, toMessageWithParts, toSession } from "./convert.js";
import { listDeletedSessions, undeleteSession } from "./deleted-sessions.js";
import { toDraft } from "./draft-convert.js";
import { maskedFields } from "./field-mask.js";
import { decodeMessageToken, decodeSessionToken, encodeMessageToken, encodeSessionToken } from "./page-token.js";
import { watchSessions } from "./session-watch.js";
import { createTicket, revokeTickets } from "./ticket-handlers.js";
import { checkBoundsOrder, fromBoundTimestamp, fromExpireTime } from "./timestamps.js";

export const sessionMethods: ServiceMethods<typeof SessionService> = {
  createSession: { scope: "write", ticket: "none", handle: createSession },
  getSession: { scope: "read", ticket: "read", handle: getSession },
  loadSession: { scope: "read", ticket: "read", handle: loadSession },
  listSessions: { scope: "read", ticket: "none", handle: listSessions },
  updateSession: { scope: "write", ticket: "none", handle: updateSession },
  deleteSession: { scope: "write", ticket: "none", handle: deleteSession },
  forkSession: { scope: "write", ticket: "none", handle: forkSession },
  shareSession: { scope: "write", ticket: "none", handle: shareSession },
  revertSession: { scope: "write", ticket: "none", handle: revertSession },
  createTicket: { scope: "write", ticket: "none", handle: createTicket },
  revokeTickets: { scope: "write", ticket: "none", handle: revokeTickets },
  unrevertSession: { scope: "write", ticket: "none", handle: unrevertSession },
  undeleteSession: { scope: "write", ticket: "none", handle: undeleteSession },
  watchSessions: { scope: "read", ticket: "none", handle: watchSessions },
};

async function createSession(request: CreateSessionRequest, context: ApiContext): Promise<Session> {
  const { sessionId, parentId, title, metadata, labels, owner } = request;
  const session = {
    sessionId: optionalText(sessionId),
    parentId: optionalText(parentId),
    title: optionalText(title),
    metadata,
    labels,
    owner: optionalText(owner),
    expireTimeMicros: fromExpireTime("expire_time", request.expireTime),
  };
  return toSession(await context.rootPool.sessions.createSession(session, callOf(context)));
}

async function getSession(request: GetSessionRequest, context: ApiContext): Promise<Session> {
  return toSession(await context.rootPool.sessions.getSession(request.sessionId, callOf(context)));
}

async function loadSession(request: LoadSessionRequest, context: ApiContext): Promise<LoadSessionResponse> {
  const loaded = await context.rootPool.sessions.loadSession(request.sessionId, {
    limit: pageLimit(request.limit, context.limits),
    cursor: request.pageToken === "" ? undefined : decodeMessageToken(request.pageToken),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.LoadSessionResponse",
    session: toSession(loaded.session),
    messages: loaded.messages.map(toMessageWithParts),
    nextPageToken: loaded.next === undefined ? "" : encodeMessageToken(loaded.next),
    drafts: (loaded.drafts ?? []).map(toDraft),
  };
}

async function listSessions(request: ListSessionsRequest, context: ApiContext): Promise<ListSessionsResponse> {
  if (request.deleted) return listDeletedSessions(request, context);
  const { parentId, pageToken, label: labels, updatedSince, updatedUntil } = request;
  const owner = ownerFilter(request);
  checkBoundsOrder(updatedSince, updatedUntil, "updated_");
  const filter = {
    parentId,
    labels,
    owner,
    updatedSinceMicros: fromBoundTimestamp("updated_since", updatedSince),
    updatedUntilMicros: fromBoundTimestamp("updated_until", updatedUntil),
    titleWords: parseTitleFilter(request.title),
    order: parseOrder(request.orderBy),
  };
  const scope = listScope(context, owner);
  const page = await context.rootPool.sessions.listSessions({
    ...filter,
    view: fromView("view", request.view),
    limit: pageLimit(request.limit, context.limits),
    cursor: pageToken === "" ? undefined : decodeSessionToken(pageToken, filter, scope),
    withTotal: request.withTotal,
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.ListSessionsResponse",
    sessions: page.sessions.map(toSession),
    nextPageToken: page.next === undefined ? "" : encodeSessionToken(page.next, scope),
    ...(page.total && { totalSize: BigInt(page.total.size) }),
    totalIsEstimate: page.total?.isEstimate ?? false,
  };
}

async function updateSession(request: UpdateSessionRequest, context: ApiContext): Promise<Session> {
  const session = await context.rootPool.sessions.updateSession(request.sessionId, changeOf(request), {
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    ...callOf(context),
  });
  return toSession(session);
}

/** A field that the mask names is emptied when the request does not set it. */
function changeOf(request: UpdateSessionRequest): SessionChange {
  const { title, metadata, labels, owner } = request;
  const fields = maskedFields(request);
  const expireTimeMicros = fromExpireTime("expire_time", request.expireTime);
  if (fields === undefined) {
    const given = { title: optionalText(title), metadata, labels: Object.keys(labels).length > 0 ? labels : undefined };
    return { ...given, owner: optionalText(owner), expireTimeMicros };
  }
  return {
    title: fields.includes("title") ? title : undefined,
    metadata: fields.includes("metadata") ? (metadata ?? {}) : undefined,
    labels: fields.includes("labels") ? labels : undefined,
    owner: fields.includes("owner") ? owner : undefined,
    expireTimeMicros: fields.includes("expire_time") ? (expireTimeMicros ?? null) : undefined,
  };
}

async function deleteSession(request: DeleteSessionRequest, context: ApiContext): Promise<DeleteSessionResponse> {
  await context.rootPool.sessions.deleteSession(request.sessionId, callOf(context));
  return { $typeName: "sessionpool.v1.DeleteSessionResponse" };
}

async function forkSession(request: ForkSessionRequest, context: ApiContext): Promise<ForkSessionResponse> {
  const fork = await context.rootPool.sessions.forkSession(request.sessionId, {
    newSessionId: optionalText(request.newSessionId),
    upToMessageId: optionalText(request.upToMessageId),
    title: optionalText(request.title),
    ...callOf(context),
  });
  return toForkResponse(fork);
}

async function shareSession(request: ShareSessionRequest, context: ApiContext): Promise<ForkSessionResponse> {
  const share = await context.rootPool.sessions.shareSession(request.sessionId, {
    newSessionId: optionalText(request.newSessionId),
    ...callOf(context),
  });
  return toForkResponse(share);
}

function toForkResponse({ session, forkPointId, copiedCount }: ForkedSession): ForkSessionResponse {
  return {
    $typeName: "sessionpool.v1.ForkSessionResponse",
    session: toSession(session),
    forkPointId: forkPointId ?? "",
    copiedCount: BigInt(copiedCount),
  };
}

async function revertSession(request: RevertSessionRequest, context: ApiContext): Promise<RevertSessionResponse> {
  const reverted = await context.rootPool.sessions.revertSession(request.sessionId, keptOf(request), {
    expectedRevision: exactCount("expected_revision", request.expectedRevision),
    expectedRemovedCount: exactCount("expected_removed_count", request.expectedRemovedCount),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.RevertSessionResponse",
    session: toSession(reverted.session),
    removedCount: BigInt(reverted.removedCount),
  };
}

async function unrevertSession(request: UnrevertSessionRequest, context: ApiContext): Promise<UnrevertSessionResponse> {
  const restored = await context.rootPool.sessions.unrevertSession(request.sessionId, callOf(context));
  return {
    $typeName: "sessionpool.v1.UnrevertSessionResponse",
    session: toSession(restored.session),
    restoredCount: BigInt(restored.restoredCount),
  };
}
