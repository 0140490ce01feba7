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
import type { ExactObject, ExactValue } from "../../codec/exact-json.js";
import { attachLarge, type Upload } from "./attach-large.js";
import { type Download, withAttached } from "./attached.js";
import { toItem, toMessage } from "./items.js";
import type { ListName, ListPlaces } from "./list-places.js";
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
  readonly body: ExactValue | undefined;
  /** What the caller sees. */
  readonly caller: Pick<ListName, "namespace" | "access">;
  readonly places: ListPlaces;
  /** Reads an attachment of the conversation. */
  readonly download: Download;
  readonly upload: (sessionId: string, upload: Upload) => Promise<void>;
}

const { createSession, getSession, updateSession, deleteSession } = SessionService.method;
const { appendMessages, getMessage, listMessages, countMessages, deleteMessage } = MessageService.method;

/** OpenAI's limits on metadata. */
const METADATA = { pairs: 16, keyLength: 64, valueLength: 512 };
const ITEMS = { usual: 20, most: 100 };
/** How often a page is read again because the history changed after `after` was found and before the page was read. */
const ATTEMPTS = 5;

export async function createConversation(rpc: Rpc, { body, upload }: ConversationRequest): Promise<ExactObject> {
  const { items, metadata, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  const messages = toMessages(items ?? []);
  const session = await rpc(createSession, { metadata: toMetadata(metadata) });
  const { sessionId } = session;
  try {
    if (messages.length > 0) {
      await rpc(appendMessages, { sessionId, messages: await uploaded(messages, sessionId, upload) });
    }
  } catch (error) {
    // Nobody has been told about the conversation.
    await rpc(deleteSession, { sessionId }, { isUndo: true });
    throw error;
  }
  return toConversation(session);
}

export async function retrieveConversation(rpc: Rpc, { sessionId }: ConversationRequest): Promise<ExactObject> {
  return toConversation(await rpc(getSession, { sessionId }));
}

export async function updateConversation(rpc: Rpc, { sessionId, body }: ConversationRequest): Promise<ExactObject> {
  const { metadata, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  if (metadata === undefined) throw badParameter("metadata", "it is required");
  const updateMask = { paths: ["metadata"] };
  return toConversation(await rpc(updateSession, { sessionId, metadata: toMetadata(metadata), updateMask }));
}

export async function deleteConversation(rpc: Rpc, { sessionId }: ConversationRequest): Promise<ExactObject> {
  await rpc(deleteSession, { sessionId });
  return { id: sessionId, object: "conversation.deleted", deleted: true };
}

export async function createItems(rpc: Rpc, { sessionId, body, upload }: ConversationRequest): Promise<ExactObject> {
  const { items, ...others } = asObject(body ?? {}, "body");
  refuseOthers(others, []);
  const messages = toMessages(items).map((message) => create(MessageWithPartsSchema, message));
  if (messages.length === 0) throw badParameter("items", "expected at least one item");
  const stored = await uploaded(messages, sessionId, upload);
  const { messageIds } = await rpc(appendMessages, { sessionId, messages: stored });
  messages.forEach((message, i) => {
    message.info!.id = messageIds[i] as string;
  });
  // What was sent lists no attachments.
  const whole = await Promise.all(messages.map((message) => withAttached(message, async () => undefined)));
  return toList(whole, false);
}

/** The messages as they are stored, once the attachments are that they name. */
async function uploaded(
  messages: readonly ReturnType<typeof toMessage>[],
  sessionId: string,
  upload: ConversationRequest["upload"],
): Promise<ReturnType<typeof toMessage>[]> {
  const all = messages.map(attachLarge);
  for (const one of all.flatMap(({ uploads }) => uploads)) await upload(sessionId, one);
  return all.map(({ message }) => message);
}

export async function retrieveItem(
  rpc: Rpc,
  { sessionId, itemId: messageId, download }: ConversationRequest,
): Promise<ExactObject> {
  return toItem(await withAttached(await rpc(getMessage, { sessionId, messageId }), download));
}

/** Returns the conversation, as OpenAI does. */
export async function deleteItem(
  rpc: Rpc,
  { sessionId, itemId: messageId }: ConversationRequest,
): Promise<ExactObject> {
  await rpc(deleteMessage, { sessionId, messageId });
  return toConversation(await rpc(getSession, { sessionId }));
}

export async function listItems(
  rpc: Rpc,
  { sessionId, query, caller, places, download }: ConversationRequest,
): Promise<ExactObject> {
  const after = query.get("after") ?? "";
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw badParameter("order", "expected asc or desc");
  const limit = readLimit(query.get("limit"));
  const list = { ...caller, sessionId, newestFirst: order === "desc" };
  // One more tells what the next page begins with.
  const messages = await messagesAfter(rpc, list, after, limit + 1, places);
  const shown = messages.all.slice(0, limit);
  const hasMore = messages.nextPageToken !== "" || messages.all.length > limit;
  const ids = shown.map(({ info }) => info?.id ?? "").reverse();
  if (hasMore) places.remember(list, { shown: ids, next: messages.all[limit]?.info?.id, after });
  const whole: MessageWithParts[] = [];
  for (const message of shown) whole.push(await withAttached(message, download));
  return toList(whole, hasMore);
}

interface Listed {
  readonly all: readonly MessageWithParts[];
  /** Empty when the list ends with them. */
  readonly nextPageToken: string;
}

/** Goes on after an item, or where it was if it has been deleted since. Without an id, begins at the beginning. */
async function messagesAfter(
  rpc: Rpc,
  list: ListName,
  after: string,
  limit: number,
  places: ListPlaces,
): Promise<Listed> {
  if (after === "") return await listFrom(rpc, list, 0, limit);
  try {
    return await listFromItem(rpc, list, after, limit, 1);
  } catch (error) {
    if (!isMissing(error)) throw error;
    for (const { itemId, isListed } of places.continuations(list, after)) {
      try {
        if (itemId === undefined) return await listFrom(rpc, list, 0, limit);
        return await listFromItem(rpc, list, itemId, limit, isListed ? 1 : 0);
      } catch (other) {
        if (!isMissing(other)) throw other;
      }
    }
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.code === Code.NotFound;
}

/** Reads from the item itself, which proves that the place is right, and leaves out the first `skip` messages. */
async function listFromItem(rpc: Rpc, list: ListName, itemId: string, limit: number, skip: 0 | 1): Promise<Listed> {
  const { sessionId, newestFirst } = list;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { info } = await rpc(getMessage, { sessionId, messageId: itemId });
    const position = info?.position ?? 0n;
    const offset = newestFirst ? (await rpc(countMessages, { sessionId })).count - 1n - position : position;
    const page = offset < 0n ? undefined : await listFrom(rpc, list, Number(offset), limit + skip);
    if (page?.all[0]?.info?.id !== itemId) continue;
    const { all, nextPageToken } = page;
    if (all.length > skip || nextPageToken === "") return { all: all.slice(skip), nextPageToken };
    // The item fills a page of its own.
    const next = await rpc(listMessages, { sessionId, newestFirst, limit, pageToken: nextPageToken });
    return { all: next.messages, nextPageToken: next.nextPageToken };
  }
  throw new ApiError(Code.Aborted, "The conversation changes too fast to go on after this item; try again");
}

async function listFrom(
  rpc: Rpc,
  { sessionId, newestFirst }: ListName,
  offset: number,
  limit: number,
): Promise<Listed> {
  const { messages, nextPageToken } = await rpc(listMessages, { sessionId, newestFirst, offset, limit });
  return { all: messages, nextPageToken };
}

function readLimit(text: string | null): number {
  if (text === null) return ITEMS.usual;
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > ITEMS.most)
    throw badParameter("limit", `expected a number from 1 to ${ITEMS.most}`);
  return limit;
}

function toMessages(items: ExactValue | undefined): ReturnType<typeof toMessage>[] {
  return asList(items, "items").map((item, i) => toMessage(item, `items[${i}]`));
}

function toMetadata(value: ExactValue | undefined): JsonObject | undefined {
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
  return metadata as JsonObject;
}

function toConversation({ sessionId, createTime, metadata = {} }: Session): ExactObject {
  return { id: sessionId, object: "conversation", created_at: Number(createTime?.seconds ?? 0n), metadata };
}

function toList(messages: readonly MessageWithParts[], hasMore: boolean): ExactObject {
  const data = messages.map(toItem);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ends, has_more: hasMore };
}
