import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { MessageReader } from "./chatgpt-message.js";
import { type Branch, readTree } from "./chatgpt-tree.js";
import { microsOf, textAt, without } from "./fields.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignFork, ForeignMessage, ForeignSession, JsonReader, ReadContext } from "./reader.js";

/** Fields of a conversation that have a place of their own in a session. */
const OWN_FIELDS = ["id", "conversation_id", "title", "create_time", "update_time", "current_node", "mapping"];

/**
 * Conversations of `conversations.json` of ChatGPT. Each is a tree, whose current branch becomes the session and whose
 * other branches become its forks.
 */
export const chatgpt: JsonReader = {
  name: "ChatGPT",
  isEntry: (value) => isObject(value) && isObject(value.mapping),
  read: (entries, context) => {
    const messages = new MessageReader(context);
    return forEachEntry(entries, context, (value, place) => readConversation(value, place, messages, context));
  },
};

function readConversation(
  value: unknown,
  place: string,
  reader: MessageReader,
  { notes }: ReadContext,
): readonly ForeignSession[] {
  if (!isObject(value)) throw new Error("it is not an object");
  const id = textAt(value, "conversation_id") || textAt(value, "id");
  const title = textAt(value, "title");
  const name = [place, id && JSON.stringify(id), title && JSON.stringify(title)].filter(Boolean).join(", ");
  if (!isObject(value.mapping)) {
    notes.leftOut("conversations without a mapping, which has the messages", name);
    return [];
  }
  const { main, others, broken } = readTree(value.mapping, textAt(value, "current_node"));
  if (broken > 0) notes.mended("conversations with links that lead nowhere, whose messages were joined", name);
  const read = new Map<string, ForeignMessage | null>();
  const messagesOf = ({ nodes }: Branch) =>
    nodes.flatMap(({ id: nodeId, message, parent }) => {
      const converted = reader.read(nodeId, message, parent?.message, name);
      read.set(nodeId, converted);
      return converted ?? [];
    });
  const messages = messagesOf(main);
  const forks = others.flatMap((branch): ForeignFork[] => {
    const own = messagesOf(branch);
    return own.length === 0 ? [] : [{ after: lastOf(branch, read), messages: own }];
  });
  const rest = without(value as JsonObject, ...OWN_FIELDS);
  const session = {
    sessionId: id,
    title,
    createTimeMicros: microsOf(value.create_time),
    updateTimeMicros: microsOf(value.update_time),
    ...(Object.keys(rest).length > 0 && { metadata: { chatgpt: rest } }),
    messages,
    forks,
  };
  return [session];
}

/** The last message before a branch. Some nodes have none. */
function lastOf(branch: Branch, read: ReadonlyMap<string, ForeignMessage | null>): ForeignMessage | null {
  for (let node = branch.nodes[0]?.parent; node; node = node.parent) {
    const message = read.get(node.id);
    if (message) return message;
  }
  return null;
}
