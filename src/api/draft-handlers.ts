import type {
  DiscardDraftRequest,
  DiscardDraftResponse,
  ExtendDraftRequest,
  ExtendDraftResponse,
  FinishDraftRequest,
  FinishDraftResponse,
  ListDraftsRequest,
  ListDraftsResponse,
  StartDraftRequest,
  StartDraftResponse,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import type { ApiContext } from "./api-method.js";
import { callOf, exactCount } from "./call-options.js";
import { fromMessageWithParts } from "./convert.js";
import { fromDelta, toDraft } from "./draft-convert.js";
import { fromUsage } from "./usage-convert.js";

export async function startDraft(request: StartDraftRequest, context: ApiContext): Promise<StartDraftResponse> {
  const message = fromMessageWithParts("message", request.message);
  const { messageId, version } = await context.rootPool.sessions.drafts.start(request.sessionId, message, {
    discardWhenAbandoned: request.discardWhenAbandoned,
    createSession: request.createSession,
    ...callOf(context),
  });
  return { $typeName: "sessionpool.v1.StartDraftResponse", messageId, version: BigInt(version) };
}

export async function extendDraft(request: ExtendDraftRequest, context: ApiContext): Promise<ExtendDraftResponse> {
  const { sessionId, messageId } = request;
  const deltas = request.deltas.map(fromDelta);
  const { drafts } = context.rootPool.sessions;
  const version = await drafts.extend(
    sessionId,
    messageId,
    exactCount("version", request.version),
    deltas,
    callOf(context),
  );
  return { $typeName: "sessionpool.v1.ExtendDraftResponse", version: BigInt(version) };
}

export async function finishDraft(request: FinishDraftRequest, context: ApiContext): Promise<FinishDraftResponse> {
  const { sessionId, messageId, metadata, usage } = request;
  const { messageIds, position } = await context.rootPool.sessions.drafts.finish(sessionId, messageId, {
    version: exactCount("version", request.version),
    deltas: request.deltas.map(fromDelta),
    metadata,
    usage: fromUsage("usage", usage),
    expectedPosition: exactCount("expected_position", request.expectedPosition),
    ...callOf(context),
  });
  const [appendedId = messageId] = messageIds;
  return { $typeName: "sessionpool.v1.FinishDraftResponse", messageId: appendedId, position: BigInt(position) };
}

export async function discardDraft(request: DiscardDraftRequest, context: ApiContext): Promise<DiscardDraftResponse> {
  await context.rootPool.sessions.drafts.discard(request.sessionId, request.messageId, callOf(context));
  return { $typeName: "sessionpool.v1.DiscardDraftResponse" };
}

export async function listDrafts(request: ListDraftsRequest, context: ApiContext): Promise<ListDraftsResponse> {
  const drafts = await context.rootPool.sessions.drafts.list(request.sessionId, callOf(context));
  return { $typeName: "sessionpool.v1.ListDraftsResponse", drafts: drafts.map(toDraft) };
}
