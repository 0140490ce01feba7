import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { anthropicParts } from "./anthropic-parts.js";
import { branchesOf } from "./branches.js";
import { firstText, listAt, microsOf, rest, textAt } from "./fields.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignMessage, ForeignPart, ForeignSession, JsonReader } from "./reader.js";

type Fields = Record<string, unknown>;

/** Exports of Claude.ai: `conversations.json`, which is a list of conversations. */
export const claudeAi: JsonReader = {
  name: "Claude.ai",
  isEntry: (value) => isObject(value) && Array.isArray(value.chat_messages),
  read: (entries, context) =>
    forEachEntry(entries, context, (value, place) => [
      sessionOf(value, (i) => context.notes.leftOut("messages that are no objects", `${place}, message ${i + 1}`)),
    ]),
};

function sessionOf(value: unknown, onLost: (i: number) => void): ForeignSession {
  if (!isObject(value) || !Array.isArray(value.chat_messages)) throw new Error("it has no list chat_messages");
  const messages = value.chat_messages.flatMap((message, i) => {
    if (isObject(message)) return [message];
    onLost(i);
    return [];
  });
  // Exports of 2024 name no parents: their messages stand in order.
  const isTree = messages.some((message) => textAt(message, "parent_message_uuid") !== "");
  const nodes = messages.map((message, i) => ({
    id: idOf(message, i),
    parent: isTree ? textAt(message, "parent_message_uuid") : i === 0 ? undefined : idOf(messages[i - 1], i - 1),
    message: messageOf(message, idOf(message, i)),
  }));
  return {
    sessionId: textAt(value, "uuid"),
    title: textAt(value, "name"),
    metadata: metadataOf(value, "uuid", "name", "chat_messages", "created_at", "updated_at"),
    createTimeMicros: microsOf(value.created_at),
    updateTimeMicros: microsOf(value.updated_at),
    ...branchesOf(nodes, textAt(value, "current_leaf_message_uuid") || undefined),
  };
}

function idOf(message: unknown, i: number): string {
  return textAt(message, "uuid") || `message-${i + 1}`;
}

function messageOf(message: Fields, id: string): ForeignMessage | undefined {
  const blocks = withCallIds(listAt(message, "content"), id);
  const said = anthropicParts(blocks).filter(({ type, text, data }) => type !== "text" || text || data?.citations);
  const spoken = said.length > 0 ? said : anthropicParts(textAt(message, "text"));
  const files = [...listAt(message, "attachments"), ...listAt(message, "files"), ...listAt(message, "files_v2")];
  const parts = [...spoken, ...uniqueFiles(files)];
  if (parts.length === 0) return undefined;
  const sender = firstText(message, "sender", "role");
  return {
    id,
    role: sender === "human" ? "user" : sender || "assistant",
    timestampMicros: microsOf(message.created_at),
    parts,
    metadata: metadataOf(
      message,
      ...["uuid", "text", "content", "sender", "created_at", "attachments", "files", "files_v2", "parent_message_uuid"],
    ),
  };
}

/** Calls and results without ids get them, so that the call that each result belongs to is known. */
function withCallIds(blocks: readonly unknown[], messageId: string): unknown[] {
  const open: { readonly id: string; readonly name: string }[] = [];
  return blocks.map((block, i) => {
    if (!isObject(block)) return block;
    const name = textAt(block, "name");
    if (block.type === "tool_use") {
      const id = textAt(block, "id") || `${messageId}-${i}`;
      open.push({ id, name });
      return { ...block, id };
    }
    if (block.type !== "tool_result") return block;
    const place = open.findIndex((call) => call.name === name);
    const [call] = open.splice(Math.max(place, 0), 1);
    return { ...block, tool_use_id: textAt(block, "tool_use_id") || (call?.id ?? "") };
  });
}

function uniqueFiles(files: readonly unknown[]): ForeignPart[] {
  const seen = new Set<string>();
  return files.filter(isObject).flatMap((file) => {
    const key = firstText(file, "file_uuid", "id") || JSON.stringify(file);
    if (seen.has(key)) return [];
    seen.add(key);
    const data = {
      ...rest(file, "file_name", "file_type"),
      filename: textAt(file, "file_name") || "file",
      mime: textAt(file, "file_type"),
    };
    return [{ type: "file", data: data as JsonObject }];
  });
}

function metadataOf(value: Fields, ...names: readonly string[]): JsonObject | undefined {
  const kept = rest(value, ...names);
  return kept && { claude_ai: kept };
}
