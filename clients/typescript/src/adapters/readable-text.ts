import type { NewMessage } from "../index.js";
import { beginningOf } from "./attachable.js";
import { sizeOf } from "./batches.js";
import { fitted } from "./fitted.js";

const MOST_BYTES = 3 * 1024 * 1024 - 32 * 1024;
/** So much of the text is always there, so that every message can be recognised in a list. */
const SHORT_BYTES = 1024;

/**
 * The message with a first part of type `text`, for people, previews and search. Adapters that keep a framework's own
 * data in another part ignore it when they read.
 */
export function withReadableText(message: NewMessage, text: string): NewMessage {
  if (text === "") return message;
  return { ...message, parts: [{ type: "text", text: text.toWellFormed() }, ...(message.parts ?? [])] } as NewMessage;
}

/**
 * The message within the API's limits. The readable text takes no room from the data: of a long one, only the beginning
 * is there when the message would be over its limit.
 */
export function fittedToReadable(message: NewMessage): NewMessage {
  const [first, ...others] = message.parts ?? [];
  if (first?.type !== "text" || others.length === 0) return fitted(message);
  const room = Math.max(SHORT_BYTES, MOST_BYTES - sizeOf({ ...message, parts: others } as NewMessage));
  return fitted({
    ...message,
    parts: [{ ...first, text: beginningOf(first.text ?? "", room) }, ...others],
  } as NewMessage);
}
