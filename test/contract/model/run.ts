import type { Annotation } from "../../../src/domain/annotation.js";
import type { Attachment } from "../../../src/domain/attachment.js";
import type { ChatMessage, MessageChange } from "../../../src/domain/chat-message.js";
import type { Draft } from "../../../src/domain/draft.js";
import { DomainError } from "../../../src/domain/errors.js";
import type { MessageCursor, MessagePage, MessageQuery } from "../../../src/domain/page.js";
import { parseSearch, type SearchHit } from "../../../src/domain/search.js";
import type { Session } from "../../../src/domain/session.js";
import type { Usage, UsageSums } from "../../../src/domain/usage.js";
import type { UsageRow } from "../../../src/domain/usage-groups.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import type { StorageProvider, TurnAppend } from "../../../src/storage/storage-provider.js";
import type { Operation } from "./operations.js";

/** What a slot remembers between its steps. */
export interface Slots {
  readonly lists: Map<
    number,
    { readonly session: string; readonly query: MessageQuery; readonly cursor: MessageCursor }
  >;
}

export type Outcome = { readonly value: unknown } | { readonly error: string };

/** Performs one operation. Refusals become values; other errors are thrown. */
export async function outcomeOf(provider: StorageOperations, operation: Operation, slots: Slots): Promise<Outcome> {
  try {
    return { value: await run(provider, operation, slots) };
  } catch (error) {
    return { error: codeOf(error) };
  }
}

async function run(provider: StorageOperations, operation: Operation, slots: Slots): Promise<unknown> {
  switch (operation.op) {
    case "create": {
      const { session, parent, title, labels } = operation;
      return shownSession(await provider.createSession({ sessionId: session, parentId: parent, title, labels }));
    }
    case "update": {
      const { session, title, labels, onlyIfFirst } = operation;
      return shownSession(await provider.updateSession(session, { title, labels }, expectedOf(onlyIfFirst)));
    }
    case "give":
      return shownSession(await provider.updateSession(operation.session, { owner: operation.owner }));
    case "append": {
      const [append] = operation.appends.map(toTurnAppend) as [TurnAppend];
      if (operation.creates) return appendCreating(provider, operation.session, append);
      return provider.logMessages(operation.session, append.messages, append.options);
    }
    case "turn": {
      const outcomes = await provider.logTurn(operation.session, operation.appends.map(toTurnAppend));
      return outcomes.map((outcome) => (outcome.ok ? outcome.result : { error: codeOf(outcome.error) }));
    }
    case "truncate":
    case "revert": {
      const { op, session, message, onlyIfFirst } = operation;
      const keepForUnrevert = op === "revert";
      return provider.truncateMessages(session, message, { keepForUnrevert, ...expectedOf(onlyIfFirst) });
    }
    case "updateMessage": {
      const { session, message, role, onlyIfFirst } = operation;
      return shownMessage(await provider.updateMessage(session, message, changeOf(role), expectedOf(onlyIfFirst)));
    }
    case "deleteMessage":
      return provider.deleteMessage(operation.session, operation.message, expectedOf(operation.onlyIfFirst));
    case "unrevert":
      return provider.restoreMessages(operation.session);
    case "expire": {
      // Every clock is past this time.
      const change = { expireTimeMicros: Number.MIN_SAFE_INTEGER };
      const { expireTimeMicros: _gone, ...session } = await provider.updateSession(operation.session, change);
      return shownSession(session);
    }
    case "delete":
      return provider.deleteSession(operation.session);
    case "undelete":
      return shownSession(await provider.undeleteSession(operation.session));
    case "deleted":
      return allDeleted(provider, operation.limit);
    case "sum":
      return allRows(provider, operation);
    case "count":
      return provider.getMessageCount(operation.session);
    case "describe":
      return shownSession(await provider.getSession(operation.session));
    case "get":
      return shownMessage(await provider.getMessage(operation.session, operation.message));
    case "fork":
    case "share":
    case "copy": {
      const { session, target, op, upTo, onlyIfFirst } = operation;
      const options = { as: op, upToMessageId: upTo, ...expectedOf(onlyIfFirst) };
      const forked = await provider.forkConversation(session, target, options);
      return { ...forked, session: forked.session && shownSession(forked.session) };
    }
    case "read": {
      const { session, ancestors, limit, offset } = operation;
      const list = await provider.getSessionMessages(session, { includeAncestors: ancestors, limit, offset });
      return list.map(shownMessage);
    }
    case "list": {
      const { session, query, limit, offset } = operation;
      return shownPage(await provider.listMessages(session, { ...query, limit, offset }));
    }
    case "page":
      return pageOf(provider, operation, slots);
    case "load": {
      const loaded = await provider.loadSession(operation.session, { limit: operation.limit });
      keepCursor(slots, operation.slot, operation.session, { newestFirst: true }, loaded.next);
      const drafts = loaded.drafts?.map(shownDraft);
      return { ...shownPage(loaded), session: shownSession(loaded.session), drafts };
    }
    case "sessions":
      return allSessions(provider, { ...operation, parentId: operation.parent });
    case "search":
      return allHits(provider, operation);
    case "start": {
      const { session, message, discardWhenAbandoned } = operation;
      return provider.startDraft(session, message, { discardWhenAbandoned });
    }
    case "extend": {
      const { session, message, version = 1, deltas } = operation;
      return provider.extendDraft(session, message, version, deltas);
    }
    case "finish": {
      const { session, message, version = 1, deltas, metadata, expectedPosition } = operation;
      const usage = metadata && { outputTokens: 3 };
      return provider.finishDraft(session, message, { version, deltas, metadata, usage, expectedPosition });
    }
    case "discard":
      return provider.discardDraft(operation.session, operation.message);
    case "drafts":
      return (await provider.listDrafts(operation.session)).map(shownDraft);
    case "erase":
      // The naive model keeps no entries that could be counted.
      await provider.eraseMessage(operation.session, operation.message);
      return undefined;
    case "upload": {
      const { session, attachment, bytes } = operation;
      return shownAttachment(await provider.uploadAttachment(session, { attachmentId: attachment }, chunksOf(bytes)));
    }
    case "download": {
      const { attachment, pieces } = await provider.getAttachment(operation.session, operation.attachment, {});
      let bytes = "";
      for await (const piece of pieces) bytes += Buffer.from(piece);
      return { ...shownAttachment(attachment), bytes };
    }
    case "attachments": {
      const { attachments } = await provider.listAttachments(operation.session, { limit: 9 });
      return attachments.map(({ attachmentId, messageIds }) => [attachmentId, [...messageIds].sort()]);
    }
    case "deleteAttachment":
      return provider.deleteAttachment(operation.session, operation.attachment);
    case "annotate": {
      const { session, annotation: annotationId, message: messageId, thumb, text } = operation;
      return provider.createAnnotation(session, { annotationId, messageId, thumb, text });
    }
    case "updateAnnotation": {
      const { session, annotation, thumb, text } = operation;
      return provider.updateAnnotation(session, annotation, { thumb, text });
    }
    case "deleteAnnotation":
      return provider.deleteAnnotation(operation.session, operation.annotation);
    case "annotations":
      return allAnnotations(provider, operation);
    case "expireLater":
    case "later":
    case "abandon":
    case "follow":
    case "sweep":
    case "wait":
      return undefined;
  }
}

async function pageOf(
  provider: StorageOperations,
  { slot, session, query, limit }: Extract<Operation, { op: "page" }>,
  { lists }: Slots,
): Promise<unknown> {
  const begun = lists.get(slot) ?? { session, query, cursor: undefined };
  lists.delete(slot);
  const page = await provider.listMessages(begun.session, { ...begun.query, limit, cursor: begun.cursor });
  keepCursor({ lists }, slot, begun.session, begun.query, page.next);
  return shownPage(page);
}

function keepCursor(
  { lists }: Slots,
  slot: number,
  session: string,
  query: MessageQuery,
  cursor?: MessageCursor,
): void {
  // The cursor passes through text, as it does in a token.
  if (cursor) lists.set(slot, { session, query, cursor: JSON.parse(JSON.stringify(cursor)) });
  else lists.delete(slot);
}

/**
 * Lists all sessions, page by page, and sorts them by id. Their order by update time is not compared, because update
 * times may lag.
 */
async function allSessions(
  provider: StorageOperations,
  { parentId, labels, limit }: { parentId: string; labels: readonly string[]; limit: number },
): Promise<readonly unknown[]> {
  const sessions: Session[] = [];
  let page = await provider.listSessions({ parentId, labels, limit });
  for (;;) {
    sessions.push(...page.sessions);
    if (page.next === undefined) break;
    page = await provider.listSessions({ parentId, labels, limit, cursor: page.next });
  }
  return sessions.map(shownSession).sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
}

/**
 * Returns the messages that were found, sorted, and their times in the order of the answers. Messages with equal times
 * may come in any order, and all times near either end of the range count as equal.
 */
async function allHits(
  provider: StorageOperations,
  { word, labels, limit }: Extract<Operation, { op: "search" }>,
): Promise<unknown> {
  const hits: SearchHit[] = [];
  let page = await provider.searchMessages({ terms: parseSearch(word), labels, limit });
  for (;;) {
    hits.push(...page.hits);
    if (page.next === undefined) break;
    page = await provider.searchMessages({ terms: parseSearch(word), labels, limit, cursor: page.next });
  }
  const end = Number.MAX_SAFE_INTEGER - 1_000_000;
  return {
    found: hits.map(({ sessionId, messageId, position, role }) => [sessionId, messageId, position, role].join()).sort(),
    times: hits.map(({ timestampMicros }) => Math.min(Math.max(timestampMicros, -end), end)),
  };
}

/**
 * Lists the deleted sessions page by page, and sorts them by id: they may have been deleted at the same time. Those
 * with one id stay in the order of the list.
 */
async function allDeleted(provider: StorageOperations, limit: number): Promise<readonly unknown[]> {
  const sessions: Session[] = [];
  let page = await provider.listDeletedSessions({ limit });
  for (;;) {
    sessions.push(...page.sessions);
    if (page.next === undefined) break;
    page = await provider.listDeletedSessions({ limit, cursor: page.next });
  }
  return sessions
    .map(({ deleteTimeMicros: _deleteTime, purgeTimeMicros: _purgeTime, ...session }) => shownSession(session))
    .sort((a, b) => (a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0));
}

/** Adds up usage page by page. */
async function allRows(
  provider: StorageOperations,
  { query, limit }: Extract<Operation, { op: "sum" }>,
): Promise<readonly unknown[]> {
  const rows: UsageRow[] = [];
  let page = await provider.sumUsage({ ...query, limit });
  for (;;) {
    rows.push(...page.rows);
    if (page.next === undefined) break;
    page = await provider.sumUsage({ ...query, limit, cursor: page.next });
  }
  return rows.map(shownSums);
}

/** Lists annotations page by page. */
async function allAnnotations(
  provider: StorageOperations,
  { session, message: messageId, limit }: Extract<Operation, { op: "annotations" }>,
): Promise<readonly Annotation[]> {
  const annotations: Annotation[] = [];
  let page = await provider.listAnnotations(session, { messageId, limit });
  for (;;) {
    annotations.push(...page.annotations);
    if (page.next === undefined) return annotations;
    page = await provider.listAnnotations(session, { messageId, limit, cursor: page.next });
  }
}

export async function* chunksOf(bytes: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(bytes);
}

function shownAttachment({ attachmentId, mediaType, name, size, sha256 }: Attachment) {
  return { attachmentId, mediaType, name, size, sha256 };
}

/** Makes a change to this role, with the role as the only text. Without a role nothing changes. */
function changeOf(role: string | undefined): MessageChange {
  if (role === undefined) return {};
  return { role, parts: [{ id: "", type: "text", text: role }], usage: USAGES[role] };
}

/** The usage that goes with a role; a message keeps its own if there is none. */
const USAGES: Readonly<Record<string, Usage>> = { y: {}, z: { model: "z", inputTokens: 100 } };

/** Expects revision 1 or none. The model's revisions are counted differently, but both begin at 1. */
function expectedOf(onlyIfFirst: boolean | undefined): { expectedRevision: number | undefined } {
  return { expectedRevision: onlyIfFirst ? 1 : undefined };
}

function toTurnAppend({
  messages,
  expectedPosition,
}: {
  messages: TurnAppend["messages"];
  expectedPosition: number | undefined;
}): TurnAppend {
  return { messages, options: { expectedPosition } };
}

/** Returns the fields that are compared. The model's revisions are counted differently, and update times may lag. */
function shownSession(session: Session) {
  const {
    revision: _revision,
    updateTimeMicros: _updateTime,
    metadata: _metadata,
    labels = {},
    expireTimeMicros: _expireTime,
    usage,
    inheritedUsage,
    ...shown
  } = session;
  return { ...shown, labels, used: [usage, inheritedUsage].map(shownSums) };
}

function shownSums(sums: UsageSums | undefined): unknown {
  return sums && { ...sums, costs: [...sums.costs].map(([currency, units]) => `${currency} ${units}`).sort() };
}

/** Appends through a pool, because the pool is what makes missing sessions. */
function appendCreating(provider: StorageOperations, sessionId: string, { messages, options }: TurnAppend) {
  const storage = provider instanceof StorageManager ? provider : (provider as StorageProvider);
  const pool = new RootPool({ storage, limits: { futureMs: Number.MAX_SAFE_INTEGER } });
  return pool.sessions.appendMessages(sessionId, messages, { ...options, createSession: true });
}

/** Leaves out fields that are not set. */
function shownDraft(draft: Draft): unknown {
  return JSON.parse(JSON.stringify(draft));
}

function shownMessage(message: ChatMessage | null) {
  if (message === null) return null;
  const { metadata, usage, position, ...shown } = message;
  return {
    ...shown,
    ...(usage && { usage: JSON.parse(JSON.stringify(usage)) }),
    ...(position !== undefined && { position }),
    ...(metadata && { metadata }),
  };
}

function shownPage({ messages, next }: MessagePage) {
  return { messages: messages.map(shownMessage), hasNext: next !== undefined, lastId: next?.messageId };
}

function codeOf(error: unknown): string {
  if (error instanceof DomainError && error.code !== "internal") return error.code;
  throw error;
}
