import type { ChatMessage, Part } from "./chat-message.js";
import { type BodyContent, MessageBody } from "./message-body.js";
import { hasTexts, withoutTexts } from "./usage-text.js";

/** Replaces the parts of a message, and its metadata, once the message has been erased; see `erasedBody`. */
export const ERASED_PARTS: readonly Part[] = [{ id: "", type: "erased", text: "" }];

export const ERASED_BODY = MessageBody.of({ parts: ERASED_PARTS });

/** Identifies a message and all its copies: forks, copies and merges keep all three fields. */
export type MessageIdentity = Required<Pick<ChatMessage, "id" | "originSessionId" | "timestampMicros">>;

/** Whether both are the same message, or one is a copy of the other. */
export function isSameMessage(a: MessageIdentity, b: MessageIdentity): boolean {
  return a.id === b.id && a.originSessionId === b.originSessionId && a.timestampMicros === b.timestampMicros;
}

/** The body of a message once it has been erased. The numbers and times of its usage stay, its free texts do not. */
export function erasedBody({ usage }: BodyContent): MessageBody {
  return usage === undefined ? ERASED_BODY : MessageBody.of({ parts: ERASED_PARTS, usage: withoutTexts(usage) });
}

/** Whether a message has no content left but the numbers and times of its usage. */
export function isErased({ parts, metadata, usage }: BodyContent): boolean {
  const [part, ...others] = parts;
  const isMark = part?.type === "erased" && part.id === "" && part.text === "" && part.data === undefined;
  return isMark && others.length === 0 && metadata === undefined && !(usage && hasTexts(usage));
}
