import { timestampDate } from "@bufbuild/protobuf/wkt";
import { ulid } from "ulid";
import type { NewMessage, StoredMessage } from "../index.js";
import { hexOf } from "./attached.js";
import { cutEntry } from "./cut-entry.js";
import { ERASED, isErased, type PairedMessage, pairErased } from "./erased.js";
import { parseJson } from "./parse-json.js";
import { fittedToReadable, withReadableText } from "./readable-text.js";
import { fromStorable, toStorable } from "./storable.js";

/** A line of a transcript: JSON that only the SDK understands. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

type Block = Readonly<Record<string, unknown>>;

/** The type of the parts and the field of the metadata, the same as in the Python adapter. */
export const KEPT = "claude_agent";
/** Fields that the entries of a transcript have in common. */
const COMMON = ["sessionId", "isSidechain", "agentId", "userType", "cwd", "version", "gitBranch"];
const MOST_ID_BYTES = 128;
/** Ids have no control characters, and of all spaces only the usual one. */
const IS_ID = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;

/**
 * The message of an entry: a part with the exact JSON of the entry and, before it, a part of type `text` with what the
 * user or the assistant said. The entry's uuid is the message's id.
 */
export async function toMessage(entry: SessionStoreEntry): Promise<NewMessage> {
  const role = typeof entry.type === "string" && entry.type !== "" ? entry.type.toWellFormed() : "entry";
  const info = { id: await idOf(entry.uuid), role };
  return withReadableText({ info, parts: [{ type: KEPT, text: jsonOf(entry) }] } as NewMessage, wordsOf(entry));
}

/** The message within the API's limits: of an entry over 3 MiB, the largest texts are cut. */
export function fittedEntry({ info = {}, parts = [] }: NewMessage): NewMessage {
  const { text, truncated } = cutEntry(parts.find(({ type }) => type === KEPT)?.text ?? "");
  const metadata = truncated.length > 0 && { metadata: { truncated } };
  const fit = parts.map((part) => (part.type === KEPT ? { ...part, text } : part));
  return fittedToReadable({ info: { ...info, ...metadata }, parts: fit } as NewMessage);
}

/**
 * The entries of messages, oldest first. An erased message becomes an entry at the same place of the chain, with the
 * calls or the results that others need, and a message of another program an entry with its text.
 */
export function toEntries(messages: readonly StoredMessage[]): SessionStoreEntry[] {
  const read = messages.map(readEntry);
  const halves = pairErased(messages.map((message, at) => pairedOf(message, read[at])));
  let before: SessionStoreEntry | undefined;
  return messages.map((message, at) => {
    const { calls = [], results = [] } = halves[at] ?? {};
    const neighbor = before ?? read.slice(at).find((entry) => entry?.uuid !== undefined);
    const entry = read[at] ?? entryInstead(message, before?.uuid ?? null, neighbor, [...calls, ...results]);
    if (typeof entry.uuid === "string") before = entry;
    return entry;
  });
}

function jsonOf(entry: SessionStoreEntry): string {
  try {
    return JSON.stringify(entry);
  } catch {
    return JSON.stringify(fromStorable(toStorable(entry)));
  }
}

function readEntry({ parts }: StoredMessage): SessionStoreEntry | undefined {
  const part = parts.find(({ type }) => type === KEPT);
  return part && (parseJson(part.text) as SessionStoreEntry | undefined);
}

/** The uuid, or what stands for it if it cannot be the id of a message. */
async function idOf(uuid: unknown): Promise<string> {
  if (typeof uuid !== "string" || uuid === "") return ulid();
  const bytes = new TextEncoder().encode(uuid);
  if (IS_ID.test(uuid) && uuid !== "." && uuid !== ".." && bytes.length <= MOST_ID_BYTES) return uuid;
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** What the user or the assistant said, without what tools got and returned. */
function wordsOf(entry: SessionStoreEntry): string {
  if (entry.type !== "user" && entry.type !== "assistant") return "";
  const { content } = (entry.message ?? {}) as { content?: unknown };
  if (typeof content === "string") return content;
  const texts = blocksOf(entry).filter(({ type }) => type === "text");
  return texts
    .map(({ text }) => text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

function blocksOf(entry: SessionStoreEntry): readonly Block[] {
  const { content } = (entry.message ?? {}) as { content?: unknown };
  return Array.isArray(content) ? content.filter((block) => typeof block === "object" && block !== null) : [];
}

function pairedOf({ info }: StoredMessage, entry: SessionStoreEntry | undefined): PairedMessage {
  if (entry === undefined) {
    const erased = info?.role === "assistant" ? "call" : info?.role === "user" ? "result" : undefined;
    return { calls: [], results: [], erased };
  }
  const idsOf = (kind: string, name: string) =>
    blocksOf(entry)
      .filter(({ type }) => type === kind)
      .map((block) => `${block[name]}`);
  const results = idsOf("tool_result", "tool_use_id");
  return { calls: idsOf("tool_use", "id"), results, isQuestion: entry.type === "user" && results.length === 0 };
}

/** An entry for a message that holds none. `ids` are those of the calls or results that others need. */
function entryInstead(
  message: StoredMessage,
  parentUuid: string | null,
  neighbor: SessionStoreEntry | undefined,
  ids: readonly string[],
): SessionStoreEntry {
  const { id = "", role = "", timestamp } = message.info ?? {};
  const text = isErased(message) ? ERASED : message.parts.map((part) => part.text).join("");
  const common = Object.entries(neighbor ?? {}).filter(([name]) => COMMON.includes(name));
  const entry = {
    ...Object.fromEntries(common),
    uuid: id,
    parentUuid,
    ...(timestamp && { timestamp: timestampDate(timestamp).toISOString() }),
  };
  if (role === "assistant") {
    const calls = ids.map((callId) => ({ type: "tool_use", id: callId, name: "erased", input: {} }));
    return { ...entry, type: role, message: { type: "message", role, content: [{ type: "text", text }, ...calls] } };
  }
  if (role === "user") {
    const results = ids.map((callId) => ({ type: "tool_result", tool_use_id: callId, content: text }));
    return { ...entry, type: role, message: { role, content: results.length > 0 ? results : text } };
  }
  return { ...entry, type: "system", subtype: "informational", level: "info", content: text };
}
