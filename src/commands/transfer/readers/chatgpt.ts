import type { Part } from "../../../domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../../domain/json.js";
import { isObject, list, mapOf, number, object, optional, type Shape, string, struct } from "../shape.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignSession, JsonReader } from "./reader.js";

/** The fields that are read of a message in ChatGPT's `conversations.json`. Times are in seconds. */
const messageShape = object({
  id: string,
  author: object({ role: string, name: optional(string, undefined) }),
  create_time: optional(number, undefined),
  content: struct,
  recipient: optional(string, undefined),
  metadata: optional(struct, undefined),
});
const nodeShape = object({
  parent: optional(string, undefined),
  children: optional(list(string), []),
  message: optional(messageShape, undefined),
});
const conversationShape = object({
  id: optional(string, ""),
  conversation_id: optional(string, ""),
  title: optional(string, ""),
  create_time: optional(number, undefined),
  current_node: optional(string, undefined),
  mapping: mapOf(nodeShape),
});
const contentShape = object({
  content_type: string,
  parts: optional(
    list<unknown>((value) => value),
    undefined,
  ),
});
const text: Shape<string> = string;

type Conversation = ReturnType<typeof conversationShape>;
type Message = ReturnType<typeof messageShape>;

/** Each conversation as its user last saw it: the branch that ends at its current node. */
export const chatgpt: JsonReader = {
  name: "ChatGPT",
  isEntry: (value) => isObject(value) && "mapping" in value,
  read: (entries, context) => forEachEntry(entries, context, (value) => [readConversation(value, context.nowMicros)]),
};

function readConversation(value: unknown, nowMicros: number): ForeignSession {
  const conversation = conversationShape(value, "");
  const messages: ForeignSession["messages"][number][] = [];
  let latestMicros = toMicros(conversation.create_time);
  for (const message of currentBranch(conversation)) {
    const parts = toParts(message.content, `content of message ${JSON.stringify(message.id)}`);
    if (parts.length === 0) continue;
    latestMicros = toMicros(message.create_time) ?? latestMicros ?? nowMicros;
    messages.push(toMessage(message, parts, latestMicros));
  }
  const { conversation_id, id, title } = conversation;
  return { sessionId: conversation_id || id, title, messages };
}

function currentBranch({ mapping, current_node }: Conversation): Message[] {
  const branch: Message[] = [];
  const seen = new Set<string>();
  let id = current_node ?? [...mapping].findLast(([, { children }]) => children.length === 0)?.[0];
  while (id !== undefined && !seen.has(id)) {
    seen.add(id);
    const node = mapping.get(id);
    if (node?.message) branch.push(node.message);
    id = node?.parent;
  }
  return branch.reverse();
}

function toMessage(
  { id, author, recipient, metadata }: Message,
  parts: readonly Part[],
  timestampMicros: number,
): ForeignSession["messages"][number] {
  const kept = {
    author: author.name,
    recipient: recipient === "all" ? undefined : recipient,
    model: metadata?.model_slug,
  };
  const given = Object.entries(kept).filter(([, value]) => typeof value === "string") as [string, string][];
  return {
    id,
    role: author.role,
    timestampMicros,
    parts,
    ...(given.length > 0 && { metadata: { chatgpt: Object.fromEntries(given) } }),
  };
}

/**
 * Texts become text parts, and pictures and the like become data. Empty texts, of which hidden messages consist, are
 * left out.
 */
function toParts(content: JsonObject, path: string): Part[] {
  const { content_type, parts } = contentShape(content, path);
  if (parts === undefined) return restPart(content_type, content);
  return parts
    .filter((part) => part !== "")
    .map((part, i) => {
      if (!isObject(part)) return { id: "", type: "text", text: text(part, `${path}.parts[${i}]`) };
      const { content_type: type, ...data } = part as Record<string, JsonValue>;
      return { id: "", type: typeof type === "string" ? type : content_type, text: "", data };
    });
}

function restPart(type: string, content: JsonObject): Part[] {
  const { text, content_type: _type, parts: _parts, ...data } = content;
  if (typeof text !== "string" && Object.keys(data).length === 0) return [];
  return [
    {
      id: "",
      type,
      text: typeof text === "string" ? text : "",
      data: Object.keys(data).length === 0 ? undefined : data,
    },
  ];
}

function toMicros(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000_000);
}
