import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { branchesOf, type TreeNode } from "./branches.js";
import { firstText, listAt, microsOf, objectAt, rest, textAt } from "./fields.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignMessage, ForeignPart, ForeignSession, JsonReader } from "./reader.js";
import { usageOfModel } from "./usage.js";

type Fields = Record<string, unknown>;

/** Conversations that LibreChat exported as JSON: with all branches or without, as a list or as a tree. */
export const librechat: JsonReader = {
  name: "LibreChat",
  isEntry: (value) => isObject(value) && typeof value.conversationId === "string" && messagesOf(value).length > 0,
  read: (entries, context) =>
    forEachEntry(entries, context, (value, place) => [
      sessionOf(value, () => context.notes.leftOut("messages that are no objects", place)),
    ]),
};

function sessionOf(value: unknown, onLost: () => void): ForeignSession {
  if (!isObject(value) || messagesOf(value).length === 0) throw new Error("it has no messages");
  const messages = flat(messagesOf(value), onLost);
  const isLinked = messages.some(({ fields }) => textAt(fields, "parentMessageId") !== "");
  const nodes = messages.map(({ fields, parent }, i) => ({
    id: idOf(fields, i),
    parent:
      textAt(fields, "parentMessageId") ||
      parent ||
      (isLinked || i === 0 ? undefined : idOf(messages[i - 1]?.fields, i - 1)),
    message: messageOf(fields, idOf(fields, i)),
  }));
  const kept = rest(value, "conversationId", "title", "messages", "messagesTree", "branches", "recursive");
  return {
    sessionId: textAt(value, "conversationId"),
    title: textAt(value, "title"),
    metadata: kept && { librechat: kept },
    createTimeMicros: microsOf(value.createdAt),
    updateTimeMicros: microsOf(value.updatedAt),
    ...branchesOf(nodes, newestOf(nodes)?.id),
  };
}

/**
 * The message that was written last. One without a time, as LibreChat has until it is saved, follows those before it.
 */
function newestOf(nodes: readonly TreeNode[]): TreeNode | undefined {
  let [newest, latest] = [nodes[0], Number.NEGATIVE_INFINITY];
  let time = latest;
  for (const node of nodes) {
    time = node.message?.timestampMicros ?? time;
    if (time >= latest) [newest, latest] = [node, time];
  }
  return newest;
}

/** A conversation with one message may have it instead of a list. */
function messagesOf(value: Fields): readonly unknown[] {
  const { messages, messagesTree } = value;
  const found = messagesTree ?? messages;
  return Array.isArray(found) ? found : isObject(found) ? [found] : [];
}

/** The messages of a tree or a list, each after the one that it answers. */
function flat(messages: readonly unknown[], onLost: () => void) {
  const found: { readonly fields: Fields; readonly parent: string }[] = [];
  const open = messages.map((fields) => ({ fields, parent: "" })).reverse();
  for (let next = open.pop(); next; next = open.pop()) {
    const { fields, parent } = next;
    if (!isObject(fields)) {
      onLost();
      continue;
    }
    found.push({ fields, parent });
    const id = textAt(fields, "messageId");
    for (const child of listAt(fields, "children").toReversed()) open.push({ fields: child, parent: id });
  }
  return found;
}

function idOf(message: unknown, i: number): string {
  return firstText(message, "messageId", "_id") || `message-${i + 1}`;
}

function messageOf(message: Fields, id: string): ForeignMessage {
  const said = listAt(message, "content").flatMap(partsOf);
  const text = textAt(message, "text");
  const type = message.error === true ? "error" : "text";
  const spoken = said.length > 0 ? said : text === "" ? [] : [{ type, text }];
  const files = [...listAt(message, "files"), ...listAt(message, "attachments")].filter(isObject).map(fileOf);
  const kept = rest(
    message,
    ...["messageId", "_id", "__v", "parentMessageId", "conversationId", "text", "content", "children", "files"],
    ...["attachments", "isCreatedByUser", "createdAt", "updatedAt"],
  );
  const isSystem = textAt(message, "sender") === "System";
  const role = message.isCreatedByUser === true ? "user" : isSystem ? "system" : "assistant";
  return {
    ...(role === "assistant" && usageOfModel(textAt(message, "model"), textAt(message, "endpoint"))),
    id,
    role,
    timestampMicros: microsOf(message.createdAt),
    parts: [...spoken, ...files],
    ...(kept && { metadata: { librechat: kept } }),
  };
}

function partsOf(block: unknown): ForeignPart[] {
  if (!isObject(block)) return typeof block === "string" ? [{ type: "text", text: block }] : [];
  const type = textAt(block, "type") || "block";
  if (type === "text" || type === "error") {
    const text = textAt(block, "text") || textAt(objectAt(block, "text"), "value") || textAt(block, "error");
    return text === "" ? [] : [{ type, text }];
  }
  if (type === "think") return [{ type: "reasoning", text: textAt(block, "think") }];
  return type === "tool_call" ? callOf(objectAt(block, "tool_call")) : [{ type, data: rest(block, "type") }];
}

/** A call and its result. */
function callOf(call: JsonObject): ForeignPart[] {
  const named = objectAt(call, "function");
  const name = textAt(call, "name") || textAt(named, "name") || textAt(call, "type") || "tool";
  const callId = textAt(call, "id");
  const args = call.args ?? named.arguments ?? call.code_interpreter ?? {};
  const kept = rest(call, "id", "name", "args", "output", "function", "code_interpreter", "progress");
  const output = textAt(call, "output") || textAt(named, "output");
  const result = { type: "tool_result", text: output, data: { call_id: callId, name } };
  return [
    { type: "tool_call", data: { ...kept, call_id: callId, name, arguments: args } },
    ...(output === "" ? [] : [result]),
  ];
}

function fileOf(file: Fields): ForeignPart {
  const data = { ...rest(file, "filename", "type", "filepath"), filename: textAt(file, "filename") || "file" };
  return { type: "file", data: { ...data, mime: textAt(file, "type"), url: textAt(file, "filepath") } as JsonObject };
}
