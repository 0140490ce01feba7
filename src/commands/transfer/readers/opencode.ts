import type { Part } from "../../../domain/chat-message.js";
import type { JsonObject } from "../../../domain/json.js";
import { isObject, list, number, object, optional, string, struct } from "../shape.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignSession, JsonReader } from "./reader.js";

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

/** Sessions as `opencode export` writes them. */
export const opencode: JsonReader = {
  name: "OpenCode",
  isEntry: (value) => isObject(value) && "info" in value && Array.isArray(value.messages),
  read: (entries, context) => forEachEntry(entries, context, (value) => [readSession(value)]),
};

function readSession(value: unknown): ForeignSession {
  const { info, messages } = sessionShape(value, "");
  const { id, title, parentID } = sessionInfo(info, "info");
  return {
    sessionId: id,
    parentId: parentID,
    title,
    metadata: { opencode: without(info, "id", "title", "parentID") },
    messages: messages.map((message, k) => toMessage(message, `messages[${k}]`)),
  };
}

/** Converts a message. */
function toMessage(
  { info, parts }: { readonly info: JsonObject; readonly parts: readonly JsonObject[] },
  path: string,
): ForeignSession["messages"][number] {
  const { id, role, time } = messageInfo(info, `${path}.info`);
  return {
    id,
    role,
    timestampMicros: time?.created === undefined ? undefined : Math.round(time.created * 1000),
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
