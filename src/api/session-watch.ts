import type { WatchSessionsRequest, WatchSessionsResponse } from "../../gen/sessionpool/v1/session_service_pb.js";
import type { ChangedSession, FeedEvent } from "../domain/feed.js";
import type { ApiContext } from "./api-method.js";
import { callOf, listScope, ownerFilter } from "./call-options.js";
import { mapEach } from "./limited-access.js";
import { decodeFeedToken, encodeFeedToken, feedDigest } from "./page-token.js";
import { toTimestamp } from "./timestamps.js";

export async function watchSessions(
  request: WatchSessionsRequest,
  context: ApiContext,
): Promise<AsyncIterable<WatchSessionsResponse>> {
  const { label: labels, resumeToken } = request;
  const owner = ownerFilter(request);
  const digest = feedDigest({ ...listScope(context, owner), labels });
  const from = resumeToken === "" ? undefined : decodeFeedToken(resumeToken, digest);
  const events = await context.rootPool.sessions.watchSessions({ labels, owner }, from, callOf(context));
  return mapEach(events, (event) => toSharedResponse(event, digest));
}

/** Answers by event and by the digest that their tokens carry: watches with the same filters get the same objects. */
const shared = new WeakMap<FeedEvent, Map<string, WatchSessionsResponse>>();

function toSharedResponse(event: FeedEvent, digest: string): WatchSessionsResponse {
  const known = shared.get(event) ?? new Map<string, WatchSessionsResponse>();
  const made = known.get(digest) ?? toResponse(event, digest);
  known.set(digest, made);
  if (known.size === 1) shared.set(event, known);
  return made;
}

function toResponse(event: FeedEvent, digest: string): WatchSessionsResponse {
  return {
    $typeName: "sessionpool.v1.WatchSessionsResponse",
    event: toEvent(event),
    resumeToken: encodeFeedToken(digest, event.at),
  };
}

function toEvent(event: FeedEvent): WatchSessionsResponse["event"] {
  switch (event.kind) {
    case "created":
    case "changed":
      return { case: event.kind, value: toState(event.session) };
    case "deleted":
      return { case: "deleted", value: { $typeName: "sessionpool.v1.SessionGone", sessionId: event.sessionId } };
    case "heartbeat":
      return { case: "heartbeat", value: { $typeName: "sessionpool.v1.Heartbeat" } };
  }
}

function toState({ sessionId, revision, messageCount, updateTimeMicros }: ChangedSession) {
  return {
    $typeName: "sessionpool.v1.SessionState" as const,
    sessionId,
    revision: BigInt(revision),
    messageCount: BigInt(messageCount),
    updateTime: toTimestamp(updateTimeMicros),
  };
}
