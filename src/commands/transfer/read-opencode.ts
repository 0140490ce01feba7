import type { Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { ForeignSession } from "./foreign.js";
import { isObject, list, number, object, optional, string, struct } from "./shape.js";

/** The fields that are read of a session as `opencode export` writes it; all other fields become data. */
const sessionShape = object({
  info: struct,
  messages: list(object({ info: struct, parts: list(struct) })),
});
const sessionInfo = object({ id: string, title: optional(string, ""), parentID: optional(string, "") });
const messageInfo = object({
  id: string,
  role: string,
  time: optional(object({ created: optional(number, undefined) }), undefined),
});
const partShape = object({ id: optional(string, ""), type: string, text: optional(string, "") });

export function isOpenCode(value: unknown): boolean {
  const [first] = Array.isArray(value) ? value : [value];
  return isObject(first) && "info" in first && Array.isArray(first.messages);
}

/** Reads one session or a list of them. Throws an Error that names the invalid field. */
export function* readOpenCode(value: unknown, nowMicros: number): Iterable<ForeignSession> {
  for (const [i, one] of (Array.isArray(value) ? value : [value]).entries()) {
    const path = Array.isArray(value) ? `[${i}]` : "";
    const { info, messages } = sessionShape(one, path);
    const { id, title, parentID } = sessionInfo(info, `${path}.info`);
    let earliestMicros = Number.NEGATIVE_INFINITY;
    yield {
      sessionId: id,
      parentId: parentID,
      title,
      metadata: { opencode: without(info, "id", "title", "parentID") },
      messages: messages.map((message, k) => {
        const converted = toMessage(message, earliestMicros, nowMicros, `${path}.messages[${k}]`);
        earliestMicros = converted.timestampMicros;
        return converted;
      }),
    };
  }
}

/** Converts a message. It is never earlier than the one before it, because the order of the file counts. */
function toMessage(
  { info, parts }: { readonly info: JsonObject; readonly parts: readonly JsonObject[] },
  earliestMicros: number,
  nowMicros: number,
  path: string,
): ForeignSession["messages"][number] {
  const { id, role, time } = messageInfo(info, `${path}.info`);
  const created = time?.created === undefined ? undefined : Math.round(time.created * 1000);
  const fallback = Number.isFinite(earliestMicros) ? earliestMicros : nowMicros;
  return {
    id,
    role,
    timestampMicros: Math.max(created ?? fallback, earliestMicros),
    parts: parts.map((part, i) => toPart(part, `${path}.parts[${i}]`)),
    metadata: { opencode: without(info, "id", "role", "sessionID") },
  };
}

function toPart(part: JsonObject, path: string): Part {
  const { id, type, text } = partShape(part, path);
  const data = without(part, "id", "type", "text", "sessionID", "messageID");
  return { id, type, text, data: Object.keys(data).length === 0 ? undefined : data };
}

function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}
