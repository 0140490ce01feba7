import type { DraftDelta as ProtoDelta, Draft as ProtoDraft } from "../../gen/sessionpool/v1/message_service_pb.js";
import type { Draft, DraftDelta } from "../domain/draft.js";
import { invalidArgument } from "../domain/errors.js";
import { fromPart, toPart, toStruct } from "./convert.js";
import { toTimestamp } from "./timestamps.js";
import { toUsage } from "./usage-convert.js";

export function toDraft(draft: Draft): ProtoDraft {
  const { message, version, startTimeMicros, updateTimeMicros, discardWhenAbandoned } = draft;
  const { timestampMicros } = message;
  return {
    $typeName: "sessionpool.v1.Draft",
    message: {
      $typeName: "sessionpool.v1.MessageWithParts",
      info: {
        $typeName: "sessionpool.v1.MessageInfo",
        id: message.id,
        role: message.role,
        timestamp: timestampMicros === undefined ? undefined : toTimestamp(timestampMicros),
        metadata: toStruct(message.metadata),
        sessionId: message.sessionId,
        originSessionId: message.sessionId,
        usage: message.usage && toUsage(message.usage),
      },
      parts: message.parts.map(toPart),
    },
    version: BigInt(version),
    startTime: toTimestamp(startTimeMicros),
    updateTime: toTimestamp(updateTimeMicros),
    discardWhenAbandoned,
  };
}

export function toDelta(delta: DraftDelta): ProtoDelta {
  const $typeName = "sessionpool.v1.DraftDelta";
  if (delta.kind === "append_text") {
    const { partId, text } = delta;
    return {
      $typeName,
      delta: { case: "appendText", value: { $typeName: "sessionpool.v1.TextDelta", partId, text } },
    };
  }
  const part = toPart(delta.part);
  return { $typeName, delta: { case: "putPart", value: { $typeName: "sessionpool.v1.PartDelta", part } } };
}

export function fromDelta({ delta }: ProtoDelta, i: number): DraftDelta {
  if (delta.case === "appendText") {
    const { partId, text } = delta.value;
    return { kind: "append_text", partId, text };
  }
  if (delta.case === undefined) throw invalidArgument(`deltas[${i}] is empty: append_text or put_part is required`);
  const { part } = delta.value;
  if (part === undefined) throw invalidArgument(`deltas[${i}].put_part.part is required`);
  return { kind: "put_part", part: fromPart(part) };
}
