import type { NewChatMessage, Part } from "../../domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../domain/json.js";
import type { FileItem } from "./session-file.js";

/** A conversation of ChatGPT's `conversations.json`: only what is read here. Times are seconds. */
interface Conversation {
  readonly id?: string;
  readonly conversation_id?: string;
  readonly title?: string | null;
  readonly create_time?: number | null;
  readonly current_node?: string | null;
  readonly mapping: Readonly<Record<string, Node>>;
}

interface Node {
  readonly parent?: string | null;
  readonly children?: readonly string[];
  readonly message?: Message | null;
}

interface Message {
  readonly id: string;
  readonly author: { readonly role: string; readonly name?: string | null };
  readonly create_time?: number | null;
  readonly content: { readonly content_type: string; readonly parts?: readonly (string | JsonObject)[] } & JsonObject;
  readonly recipient?: string;
  readonly metadata?: { readonly model_slug?: string };
}

export function isChatGpt(value: unknown): boolean {
  const [first] = Array.isArray(value) ? value : [];
  return typeof first === "object" && first !== null && "mapping" in first;
}

/** Each conversation as its user last saw it: the branch that ends at its current node. */
export function* readChatGpt(value: unknown): Iterable<FileItem> {
  for (const conversation of value as Conversation[]) {
    const sessionId = conversation.conversation_id ?? conversation.id ?? "";
    const title = conversation.title ?? "";
    yield { session: { sessionId, parentId: "", forkPointId: "", inheritedCount: 0, title } };
    let latestMicros = toMicros(conversation.create_time) ?? 0;
    for (const message of currentBranch(conversation)) {
      const parts = toParts(message.content);
      if (parts.length === 0) continue;
      // Never before the message in front of it: the order of the branch counts.
      latestMicros = Math.max(toMicros(message.create_time) ?? latestMicros, latestMicros);
      yield { message: toMessage(message, parts, latestMicros) };
    }
  }
}

function currentBranch({ mapping, current_node }: Conversation): Message[] {
  const branch: Message[] = [];
  const seen = new Set<string>();
  let id: string | null | undefined = current_node ?? lastLeaf(mapping);
  while (id !== undefined && id !== null && !seen.has(id)) {
    seen.add(id);
    const node: Node | undefined = mapping[id];
    if (node?.message) branch.push(node.message);
    id = node?.parent;
  }
  return branch.reverse();
}

function lastLeaf(mapping: Conversation["mapping"]): string | undefined {
  return Object.keys(mapping).findLast((id) => (mapping[id]?.children ?? []).length === 0);
}

function toMessage(
  { id, author, recipient, metadata }: Message,
  parts: readonly Part[],
  timestampMicros: number,
): NewChatMessage {
  const kept = {
    author: author.name,
    recipient: recipient === "all" ? undefined : recipient,
    model: metadata?.model_slug,
  };
  const given = Object.entries(kept).filter(([, value]) => typeof value === "string") as [string, string][];
  return {
    id,
    role: author.role,
    timestampMicros: timestampMicros === 0 ? undefined : timestampMicros,
    parts,
    ...(given.length > 0 && { metadata: { chatgpt: Object.fromEntries(given) } }),
  };
}

/** Texts as they are; pictures and the like as data. Empty texts, which hidden messages consist of, are left out. */
function toParts({ content_type, parts, ...rest }: Message["content"]): Part[] {
  if (parts === undefined) return restPart(content_type, rest);
  return parts
    .filter((part) => part !== "")
    .map((part) => {
      if (typeof part === "string") return { id: "", type: "text", text: part };
      const { content_type: type, ...data } = part;
      return { id: "", type: typeof type === "string" ? type : content_type, text: "", data };
    });
}

function restPart(type: string, rest: Readonly<Record<string, JsonValue>>): Part[] {
  const { text, ...data } = rest;
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

function toMicros(seconds: number | null | undefined): number | undefined {
  return typeof seconds === "number" ? Math.round(seconds * 1_000_000) : undefined;
}
