import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type JsonObject,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  MessageService,
  type MessageWithParts,
  MessageWithPartsSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { type Session, SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { ApiError } from "../../api/api-error.js";
import { toItem, toMessage } from "./items.js";
import { asList, asObject, badParameter, refuseOthers } from "./read.js";

/** Makes one call of the API, through the same pipeline as every front. */
export type Rpc = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options?: RpcOptions,
) => Promise<MessageShape<O>>;

export interface RpcOptions {
  /** Whether it undoes an earlier call. If so, it is made even if the client has gone or has reached a limit. */
  readonly isUndo?: boolean;
}

/** A request to a conversation or to one of its items. */
export interface ConversationRequest {
  readonly sessionId: string;
  readonly itemId: string;
  readonly query: URLSearchParams;
  /** Undefined when there was none. */
  readonly body: unknown;
}

const { createSession, getSession, updateSession, deleteSession } = SessionService.method;
const { appendMessages, getMessage, listMessages, countMessages, deleteMessage } = MessageService.method;

/** OpenAI's limits on metadata. */
const METADATA = { pairs: 16, keyLength: 64, valueLength: 512 };
const ITEMS = { usual: 20, most: 100 };
/** How often a page is read again because the history changed after `after` was found and before the page was read. */
const ATTEMPTS = 5;

export async function createConversation(rpc: Rpc, { body }: ConversationRequest): Promise<JsonObject> {
  const { items, metadata, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  const messages = items === undefined || items === null ? [] : toMessages(items);
  const session = await rpc(createSession, { metadata: toMetadata(metadata) });
  const { sessionId } = session;
  try {
    if (messages.length > 0) await rpc(appendMessages, { sessionId, messages });
  } catch (error) {
    // Nobody has been told about the conversation.
    await rpc(deleteSession, { sessionId }, { isUndo: true });
    throw error;
  }
  return toConversation(session);
}

export async function retrieveConversation(rpc: Rpc, { sessionId }: ConversationRequest): Promise<JsonObject> {
  return toConversation(await rpc(getSession, { sessionId }));
}

export async function updateConversation(rpc: Rpc, { sessionId, body }: ConversationRequest): Promise<JsonObject> {
  const { metadata, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  if (metadata === undefined) throw badParameter("metadata", "it is required");
  const updateMask = { paths: ["metadata"] };
  return toConversation(await rpc(updateSession, { sessionId, metadata: toMetadata(metadata), updateMask }));
}

export async function deleteConversation(rpc: Rpc, { sessionId }: ConversationRequest): Promise<JsonObject> {
  await rpc(deleteSession, { sessionId });
  return { id: sessionId, object: "conversation.deleted", deleted: true };
}

export async function createItems(rpc: Rpc, { sessionId, body }: ConversationRequest): Promise<JsonObject> {
  const { items, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  const messages = toMessages(items).map((message) => create(MessageWithPartsSchema, message));
  const { messageIds } = await rpc(appendMessages, { sessionId, messages });
  messages.forEach((message, i) => {
    message.info!.id = messageIds[i] as string;
  });
  return toList(messages, false);
}

export async function retrieveItem(
  rpc: Rpc,
  { sessionId, itemId: messageId }: ConversationRequest,
): Promise<JsonObject> {
  return toItem(await rpc(getMessage, { sessionId, messageId }));
}

/** Returns the conversation, as OpenAI does. */
export async function deleteItem(rpc: Rpc, { sessionId, itemId: messageId }: ConversationRequest): Promise<JsonObject> {
  await rpc(deleteMessage, { sessionId, messageId });
  return toConversation(await rpc(getSession, { sessionId }));
}

export async function listItems(rpc: Rpc, { sessionId, query }: ConversationRequest): Promise<JsonObject> {
  const after = query.get("after") ?? "";
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw badParameter("order", "expected asc or desc");
  const limit = readLimit(query.get("limit"));
  const newestFirst = order === "desc";
  if (after !== "") return await listAfter(rpc, { sessionId, newestFirst, limit }, after);
  const { messages, nextPageToken } = await rpc(listMessages, { sessionId, newestFirst, limit });
  return toList(messages, nextPageToken !== "");
}

interface List {
  readonly sessionId: string;
  readonly newestFirst: boolean;
  readonly limit: number;
}

/** Reads from the item itself, which proves that the place is right, and leaves the item out. */
async function listAfter(rpc: Rpc, list: List, after: string): Promise<JsonObject> {
  const { sessionId, newestFirst, limit } = list;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { info } = await rpc(getMessage, { sessionId, messageId: after });
    const position = info?.position ?? 0n;
    const offset = newestFirst ? (await rpc(countMessages, { sessionId })).count - 1n - position : position;
    const read = { sessionId, newestFirst, offset: Number(offset), limit: limit + 1 };
    const page = offset < 0n ? undefined : await rpc(listMessages, read);
    if (page?.messages[0]?.info?.id !== after) continue;
    const { messages, nextPageToken } = page;
    if (messages.length > 1 || nextPageToken === "") return toList(messages.slice(1), nextPageToken !== "");
    // The item fills a page of its own.
    const next = await rpc(listMessages, { sessionId, newestFirst, limit, pageToken: nextPageToken });
    return toList(next.messages, next.nextPageToken !== "");
  }
  throw new ApiError(Code.Aborted, "The conversation changes too fast to go on after this item; try again");
}

function readLimit(text: string | null): number {
  if (text === null) return ITEMS.usual;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > ITEMS.most)
    throw badParameter("limit", `expected a number from 1 to ${ITEMS.most}`);
  return limit;
}

function toMessages(items: unknown): ReturnType<typeof toMessage>[] {
  const list = asList(items, "items");
  if (list.length === 0) throw badParameter("items", "expected at least one item");
  return list.map((item, i) => toMessage(item, `items[${i}]`));
}

function toMetadata(value: unknown): JsonObject | undefined {
  if (value === undefined || value === null) return undefined;
  const metadata = asObject(value, "metadata");
  const pairs = Object.entries(metadata);
  if (pairs.length > METADATA.pairs) throw badParameter("metadata", `at most ${METADATA.pairs} pairs`);
  for (const [key, one] of pairs) {
    if (key.length > METADATA.keyLength)
      throw badParameter("metadata", `keys have at most ${METADATA.keyLength} characters`);
    if (typeof one !== "string" || one.length > METADATA.valueLength)
      throw badParameter(`metadata.${key}`, `expected a text of at most ${METADATA.valueLength} characters`);
  }
  return metadata;
}

function toConversation({ sessionId, createTime, metadata = {} }: Session): JsonObject {
  return { id: sessionId, object: "conversation", created_at: Number(createTime?.seconds ?? 0n), metadata };
}

function toList(messages: readonly MessageWithParts[], hasMore: boolean): JsonObject {
  const data = messages.map(toItem);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ends, has_more: hasMore };
}
