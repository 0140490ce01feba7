import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { partsOf } from "./ai-sdk-parts.js";
import { firstText, microsOf, rest, textAt } from "./fields.js";
import type { Entry, ForeignMessage, ForeignSession, JsonReader, ReadContext } from "./reader.js";
import { usageFrom } from "./usage.js";

type Fields = Record<string, unknown>;

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "system", "data", "tool"]);

/**
 * UIMessages of the AI SDK, as its guides save chats: a list of messages, or an object with such a list as `messages`.
 * Messages have the form in which the SDK's adapter keeps them. Those of version 4 are converted.
 */
export const aiSdk: JsonReader = {
  name: "the AI SDK",
  isEntry: (value) => isUIMessage(value) || isChat(value),
  async *read(entries, context) {
    const messages: ForeignMessage[] = [];
    for await (const entry of entries) {
      if (isChat(entry.value)) yield chatOf(entry.value, entry, context);
      else add(messages, entry.value, entry.place, context);
    }
    if (messages.length > 0) yield { sessionId: idOf(context.document), messages };
  },
};

function isUIMessage(value: unknown): value is Fields {
  if (!isObject(value) || !ROLES.has(value.role)) return false;
  const { parts, content } = value;
  if (Array.isArray(parts)) return parts.every((part) => isObject(part) && typeof part.type === "string");
  return typeof content === "string" && typeof value.id === "string";
}

function isChat(value: unknown): value is Fields & { readonly messages: readonly unknown[] } {
  return isObject(value) && Array.isArray(value.messages) && value.messages.some(isUIMessage);
}

function chatOf(
  chat: Fields & { readonly messages: readonly unknown[] },
  { place }: Entry,
  context: ReadContext,
): ForeignSession {
  const messages: ForeignMessage[] = [];
  for (const [i, message] of chat.messages.entries()) add(messages, message, `${place}, message ${i + 1}`, context);
  const kept = rest(chat, "id", "chatId", "messages", "title", "createdAt", "updatedAt");
  return {
    sessionId: firstText(chat, "id", "chatId") || idOf(context.document),
    title: textAt(chat, "title"),
    metadata: kept && { ai_sdk: kept },
    createTimeMicros: microsOf(chat.createdAt),
    updateTimeMicros: microsOf(chat.updatedAt),
    messages,
  };
}

function add(messages: ForeignMessage[], value: unknown, place: string, context: ReadContext): void {
  const isAnswer = isUIMessage(value) && value.role === "assistant";
  if (isUIMessage(value))
    messages.push({ ...messageOf(value), ...(isAnswer && usageFrom(value.metadata, place, context)) });
  else context.notes.leftOut("entries that are no messages", place);
}

function messageOf(message: Fields): ForeignMessage {
  const fields = metadataOf(message.metadata);
  const others = rest(
    message,
    ...["id", "role", "parts", "content", "metadata", "createdAt", "toolInvocations", "reasoning"],
    "experimental_attachments",
  );
  const metadata = { ...fields, ...(others && { ai_sdk: others }) } as JsonObject;
  return {
    id: textAt(message, "id"),
    role: textAt(message, "role"),
    timestampMicros: microsOf(message.createdAt ?? fields.createdAt),
    parts: partsOf(message).map((part, i) => ({ ...part, id: `${i}` })),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Metadata may be any value; what is no object has the key under which the adapter keeps it. */
function metadataOf(value: unknown): Fields {
  if (isObject(value)) return value;
  return value === undefined || value === null ? {} : { $metadata: value };
}

/** The name of a document that a program chose as an id; other names are used again for other chats. */
function idOf(document: string): string {
  const name = document.replace(/\.\w+$/, "");
  return /^(?=.*\d)[\w-]{16,128}$/.test(name) ? name : "";
}
