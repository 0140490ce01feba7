import type {
  DraftExtended as ProtoDraftExtended,
  WatchMessagesResponse,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import type { FollowEvent } from "../domain/page.js";
import { toMessageWithParts } from "./convert.js";
import { toDelta, toDraft } from "./draft-convert.js";
import { encodeResumeToken } from "./page-token.js";

export function toWatchResponse(event: FollowEvent): WatchMessagesResponse {
  return {
    $typeName: "sessionpool.v1.WatchMessagesResponse",
    event: toWatchEvent(event),
    resumeToken: encodeResumeToken(event.at),
  };
}

type EventOf<K extends FollowEvent["kind"]> = Extract<FollowEvent, { readonly kind: K }>;

function toWatchEvent(event: FollowEvent): WatchMessagesResponse["event"] {
  switch (event.kind) {
    case "appended":
      return { case: "appended", value: toMessageWithParts(event.message) };
    case "updated":
      return { case: "updated", value: toMessageWithParts(event.message) };
    case "deleted": {
      const { messageId, position } = event;
      return {
        case: "deleted",
        value: { $typeName: "sessionpool.v1.Deleted", messageId, position: BigInt(position) },
      };
    }
    case "truncated":
      return {
        case: "truncated",
        value: { $typeName: "sessionpool.v1.Truncated", messageCount: BigInt(event.messageCount) },
      };
    case "draft":
      return { case: "draft", value: toDraft(event.draft) };
    case "draft_extended":
      return { case: "draftExtended", value: toDraftExtended(event) };
    case "draft_ended":
      return {
        case: "draftEnded",
        value: { $typeName: "sessionpool.v1.DraftEnded", messageId: event.messageId, finished: event.finished },
      };
    case "heartbeat":
      return { case: "heartbeat", value: { $typeName: "sessionpool.v1.Heartbeat" } };
  }
}

function toDraftExtended({ messageId, version, deltas }: EventOf<"draft_extended">): ProtoDraftExtended {
  return {
    $typeName: "sessionpool.v1.DraftExtended",
    messageId,
    version: BigInt(version),
    deltas: deltas.map(toDelta),
  };
}
