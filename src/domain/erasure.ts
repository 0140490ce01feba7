import type { ChatMessage, Part } from "./chat-message.js";
import { type BodyContent, MessageBody } from "./message-body.js";

/** What stands in the place of a message's parts, and of its metadata, once it has been erased. */
export const ERASED_PARTS: readonly Part[] = [{ id: "", type: "erased", text: "" }];

export const ERASED_BODY = MessageBody.of({ parts: ERASED_PARTS });

/** What tells a message, and all copies of it, from others: forks, copies and merges keep all three. */
export type MessageIdentity = Required<Pick<ChatMessage, "id" | "originSessionId" | "timestampMicros">>;

/** Whether both are the same message, or one is a copy of the other. */
export function isSameMessage(a: MessageIdentity, b: MessageIdentity): boolean {
  return a.id === b.id && a.originSessionId === b.originSessionId && a.timestampMicros === b.timestampMicros;
}

/** Whether nothing is left of a message's content. */
export function isErased({ parts, metadata }: BodyContent): boolean {
  const [part, ...others] = parts;
  const isMark = part?.type === "erased" && part.id === "" && part.text === "" && part.data === undefined;
  return isMark && others.length === 0 && metadata === undefined;
}
