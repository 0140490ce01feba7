import type { Part as ProtoPart } from "../../gen/sessionpool/v1/message_service_pb.js";
import type { Part } from "../domain/chat-message.js";

export function toPartAttachment(attachment: Part["attachment"]): ProtoPart["attachment"] {
  if (attachment === undefined) return undefined;
  const { attachmentId, mediaType, name, size, sha256, missing = false } = attachment;
  const $typeName = "sessionpool.v1.PartAttachment";
  return { $typeName, attachmentId, mediaType, name, size: BigInt(size), sha256, missing };
}
