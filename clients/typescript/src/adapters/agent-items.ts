import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentInputItem } from "@openai/agents-core";
import { ulid } from "ulid";
import type { NewMessage, StoredMessage } from "../index.js";
import { isErased } from "./erased.js";
import { erasedItems } from "./erased-items.js";
import { withReadableText } from "./readable-text.js";
import { fromStorable, toStorableObject } from "./storable.js";

const MOST_NAME = 128;
/** Pieces of content whose data is of no use when it was cut. */
const FILES = ["input_image", "input_file", "input_audio", "audio", "image", "file", "computer_screenshot"];

/** The message that keeps an item: for an item with readable text a part of type `text`, and a part with the item. */
export function toMessage(item: AgentInputItem, id: string = ulid()): NewMessage {
  const data = toStorableObject(item, { keepBytes: true });
  const message = { info: { id, role: roleOf(data) }, parts: [{ type: typeOf(data), data }] };
  return withReadableText(message, isSpoken(data) ? textOf(data.content) : "");
}

/**
 * The items of messages, in the same order. An erased message, and one of another program, becomes an item that the SDK
 * understands.
 */
export function toItems(messages: readonly StoredMessage[]): AgentInputItem[] {
  const items = messages.map((message) => (isErased(message) ? undefined : toItem(message)));
  return erasedItems(
    items,
    messages.map(({ info }) => info?.role ?? ""),
  );
}

function toItem(message: StoredMessage): AgentInputItem {
  const { metadata } = message.info ?? {};
  const data = message.parts.findLast((part) => part.data && part.type === typeOf(part.data))?.data;
  if (data === undefined || metadata?.openai !== undefined) return foreignItem(message);
  const item = fromStorable(data) as AgentInputItem;
  return metadata?.truncated === undefined ? item : (withoutCutFiles(item) as AgentInputItem);
}

/** A message that is no item of this adapter, as a message of its role. */
function foreignItem({ info, parts }: StoredMessage): AgentInputItem {
  const content = parts
    .map(({ type, text, data }) => text || (data && JSON.stringify({ type, ...data })) || "")
    .join("");
  if (info?.role === "system") return { type: "message", role: "system", content };
  if (info?.role !== "assistant") return { type: "message", role: "user", content };
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: content }] };
}

/** Replaces images and files that were cut by texts that say so, because models refuse what is left of them. */
function withoutCutFiles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCutFiles);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const { type } = value as { type?: unknown };
  const cut = FILES.includes(`${type}`)
    ? /\[truncated: \d+ of \d+ characters\]/.exec(JSON.stringify(value))?.[0]
    : undefined;
  if (cut !== undefined) return { type: `${type}`.startsWith("input_") ? "input_text" : "text", text: cut };
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutCutFiles(item)]));
}

function typeOf({ type }: JsonObject): string {
  return nameOr("message", type);
}

function roleOf({ role, type }: JsonObject): string {
  return nameOr(/_(result|output)$/.test(`${type}`) ? "tool" : "assistant", role);
}

/** Items are opaque, so what should be a name may be anything. */
function nameOr(other: string, name: unknown): string {
  return typeof name === "string" && name !== "" && name.length <= MOST_NAME ? name : other;
}

function isSpoken({ role }: JsonObject): boolean {
  return role === "user" || role === "assistant";
}

/** What a message says, without what a tool got or returned. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((piece: { text?: unknown; refusal?: unknown } | null) => piece?.text ?? piece?.refusal)
    .filter((text) => typeof text === "string")
    .join("");
}
