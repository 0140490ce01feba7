import type { NewMessage } from "../index.js";
import { beginningOf } from "./attachable.js";
import { sizeOf } from "./batches.js";
import { fitted } from "./fitted.js";

const MOST_BYTES = 3 * 1024 * 1024 - 32 * 1024;
/** So much of the text is always there, so that every message can be recognised in a list. */
const SHORT_BYTES = 1024;

/**
 * The message with a first part of type `text`, for people, previews and search. Adapters that keep a framework's own
 * data in another part ignore it when they read. It takes no room from the data: of a long text, only the beginning is
 * there when the message would be over its limit.
 */
export function withReadableText(message: NewMessage, text: string): NewMessage {
  if (text === "") return fitted(message);
  const readable = beginningOf(text.toWellFormed(), Math.max(SHORT_BYTES, MOST_BYTES - sizeOf(message)));
  return fitted({ ...message, parts: [{ type: "text", text: readable }, ...(message.parts ?? [])] } as NewMessage);
}
