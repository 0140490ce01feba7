import type { ChatMessage } from "./chat-message.js";
import type { MessagePreview } from "./session.js";

const MOST_CODE_POINTS = 200;

/** `error`: that of a call that failed in the message; empty when none did. */
export function previewOf(
  { id, role, timestampMicros, parts, usage }: Pick<ChatMessage, "id" | "role" | "timestampMicros" | "parts" | "usage">,
  error = "",
): MessagePreview {
  const texts = parts.filter(({ type }) => type === "text").map(({ text }) => text);
  const text = firstCodePoints(texts.join("\n"), MOST_CODE_POINTS);
  const failed = error !== "" && { error: firstCodePoints(error, MOST_CODE_POINTS) };
  return { messageId: id, role, timestampMicros, text, ...(usage && { usage }), ...failed };
}

/** A code point takes at most two units, so it is enough to look at twice as many. */
function firstCodePoints(text: string, count: number): string {
  return text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join("");
}
