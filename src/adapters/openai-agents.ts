// `session-pool/adapters/openai-agents`: the Session of the OpenAI Agents SDK (`@openai/agents` 0.11 or later).
import type { AgentInputItem, Session } from "@openai/agents-core";
import { ulid } from "ulid";
import type { NewMessage, SessionPoolClient, StoredMessage } from "../client/index.js";
import { batchesOf } from "./batches.js";
import { unlessMissing } from "./missing.js";
import { fromStorable, toStorableObject } from "./storable.js";

type Item = AgentInputItem & { readonly role?: string; readonly content?: unknown };

/**
 * A conversation of the Agents SDK, kept in one session. Each item is a message whose only part holds the item
 * unchanged. The first `addItems` makes the session. An item of 3 MiB or more is refused, and nothing of the same call
 * is stored.
 */
export class SessionPoolSession implements Session {
  readonly #client: SessionPoolClient;
  readonly #sessionId: string;

  /** A ULID is the session's id when none is given. */
  constructor(client: SessionPoolClient, sessionId: string = ulid()) {
    this.#client = client;
    this.#sessionId = sessionId;
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /** All items, or the last `limit` ones, oldest first; none when the session is missing. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const items: AgentInputItem[] = [];
    const pageSize = Math.min(limit ?? 1000, 1000);
    await unlessMissing(async () => {
      for await (const message of this.#client.history(this.#sessionId, { newestFirst: true, pageSize })) {
        items.push(toItem(message));
        if (items.length === limit) return;
      }
    });
    return items.reverse();
  }

  /** Adds items, all or nothing up to 1,000 items and 7 MiB; more are added in several steps. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const messages = items.map((item) => fromItem(item as Item));
    for (const batch of batchesOf(messages)) await this.#client.append(this.#sessionId, batch, { createSession: true });
  }

  /** Removes and returns the last item. Of several simultaneous calls, each removes a different item. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const { messages } = (await unlessMissing(() =>
        this.#client.messages.listMessages({ sessionId: this.#sessionId, newestFirst: true, limit: 1 }),
      )) ?? { messages: [] };
      const last = messages[0];
      if (last === undefined) return undefined;
      const messageId = last.info?.id ?? "";
      // Another call has removed it meanwhile, so this one removes the item before it.
      const isMine = await unlessMissing(() =>
        this.#client.messages.deleteMessage({ sessionId: this.#sessionId, messageId }),
      );
      if (isMine !== undefined) return toItem(last);
    }
  }

  /** Removes all items for good. The session stays, with its title and metadata. */
  async clearSession(): Promise<void> {
    await unlessMissing(() => this.#client.messages.truncateMessages({ sessionId: this.#sessionId, toStart: true }));
  }
}

function fromItem(item: Item): NewMessage {
  const type = item.type ?? "message";
  const data = toStorableObject(item, { keepBytes: true });
  const text = textOf(item.content).toWellFormed();
  return { info: { id: ulid(), role: item.role ?? "assistant" }, parts: [{ type, text, data }] };
}

/**
 * Returns the item of a message. Throws for a message that another program has written in a form of its own, unless it
 * is plain text.
 */
function toItem({ info, parts }: StoredMessage): AgentInputItem {
  const [part] = parts;
  if (parts.length === 1 && part?.data !== undefined) return fromStorable(part.data) as AgentInputItem;
  const isText = parts.every(({ type, data }) => type === "text" && data === undefined);
  const content = parts.map(({ text }) => text).join("");
  if (isText && (info?.role === "user" || info?.role === "system"))
    return { type: "message", role: info.role, content };
  if (isText && info?.role === "assistant")
    return {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: content }],
    };
  throw new TypeError(`Message ${JSON.stringify(info?.id)} is no item of the Agents SDK`);
}

/** The text of an item for human readers, in the console and in other programs. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((piece: { text?: unknown }) => (typeof piece.text === "string" ? piece.text : "")).join("");
}
