import type { Attachment, AttachmentContent, AttachmentPage, NewAttachment } from "../../../src/domain/attachment.js";
import {
  type ChatMessage,
  type MessageChange,
  type NewChatMessage,
  type Part,
  sameContent,
} from "../../../src/domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../../src/domain/errors.js";
import { labelTexts } from "../../../src/domain/labels.js";
import type { MessageCursor, MessageQuery } from "../../../src/domain/page.js";
import type { SearchHit, SearchPage } from "../../../src/domain/search.js";
import { knownUsage } from "../../../src/domain/usage-text.js";
import type {
  ForkOptions,
  ForkResult,
  GetMessagesOptions,
  ListMessagesOptions,
  LoggedMessage,
  LogOptions,
  RevisionOptions,
  SearchOptions,
  TruncateOptions,
  TurnAppend,
  TurnOutcome,
} from "../../../src/storage/storage-provider.js";
import {
  copyNamed,
  factsOf,
  filled,
  hasOthers,
  isUncertain,
  listed,
  noteNamed,
  read,
  remove,
  upload,
} from "./naive-attachments.js";
import { discardDraft, openDrafts } from "./naive-drafts.js";
import {
  append,
  insert,
  lengthUpTo,
  type NaiveMessage,
  type NaiveSession,
  shown,
  toSession,
  withUsage,
} from "./naive-session.js";
import { alreadyExists, checkRevision, NaiveSessionsProvider } from "./naive-sessions-provider.js";
import { chunksOf } from "./run.js";

/**
 * The contract of StorageProvider in its simplest form: every history is an array, sorted stably by timestamp, and
 * every fork is a copy. Real providers are compared with it. It does not implement following.
 */
export class NaiveStorageProvider extends NaiveSessionsProvider {
  override async loadSession(sessionId: string, options: { limit: number; cursor?: MessageCursor | undefined }) {
    const page = await this.listMessages(sessionId, { ...options, newestFirst: true });
    const [session, drafts] = [withUsage(this.find(sessionId)), await this.listDrafts(sessionId)];
    return { session, messages: page.messages.toReversed(), next: page.next, drafts };
  }

  /** A message is found in the session that it was first written to, and in no other. */
  override async searchMessages({ terms, labels = [], limit, cursor }: SearchOptions): Promise<SearchPage> {
    const hits = [...this.living.values()]
      .filter((session) => labels.every((label) => labelTexts(session.labels).includes(label)))
      .flatMap((session) => shown(session).filter(({ originSessionId }) => originSessionId === session.sessionId))
      .filter(({ parts }) =>
        terms.every((term) => parts.some(({ type, text }) => type === "text" && text === term.text)),
      )
      .sort((a, b) => b.timestampMicros - a.timestampMicros)
      .map((message) => toHit(message, this.find(message.sessionId).title));
    const from = Number(cursor?.place ?? 0);
    const next = from + limit < hits.length ? { place: `${from + limit}` } : undefined;
    return { hits: hits.slice(from, from + limit), next };
  }

  override async getSessionMessages(sessionId: string, options: GetMessagesOptions = {}) {
    const { includeAncestors, limit, offset } = options;
    const all = this.#shown(this.find(sessionId), includeAncestors);
    if (offset !== undefined) return all.slice(offset, limit === undefined ? undefined : offset + limit);
    return limit === undefined ? all : all.slice(Math.max(0, all.length - limit));
  }

  override async listMessages(sessionId: string, options: ListMessagesOptions) {
    const session = this.find(sessionId);
    const inTime = this.#shown(session, options.includeAncestors).filter((message) => isInTime(message, options));
    const list = options.newestFirst ? inTime.toReversed() : inTime;
    const from = options.cursor ? placeAfter(options.cursor, session, list, options) : (options.offset ?? 0);
    const messages = list.slice(from, from + options.limit);
    const last = messages.at(-1);
    if (last === undefined || from + messages.length >= list.length) return { messages };
    const place = { log: "", seq: ancestorPlace(session, last), messageId: last.id };
    return { messages, next: { sessionUid: `${session.uid}`, query: queryOf(options), ...place } };
  }

  override async getMessage(sessionId: string, messageId: string): Promise<ChatMessage | null> {
    return shown(this.find(sessionId)).find(({ id }) => id === messageId) ?? null;
  }

  override async getMessageCount(sessionId: string): Promise<number> {
    return this.find(sessionId).messages.length;
  }

  override async logMessages(sessionId: string, messages: readonly NewChatMessage[], options: LogOptions = {}) {
    const given = messages.map((message) => ({ ...message, id: message.id || this.makeId() }));
    const messageIds = given.map(({ id }) => id);
    if (given.length === 0 || new Set(messageIds).size < given.length)
      throw invalidArgument("No message, or one twice");
    const latest = this.nowMicros + this.futureMs * 1000;
    if (given.some(({ timestampMicros = this.nowMicros }) => timestampMicros > latest))
      throw invalidArgument("Too far ahead");
    const session = this.find(sessionId);
    const reserved = openDrafts(session).map(({ message }) => message.id);
    const fill = (parts: readonly Part[]) => filled(session, parts);
    const appended = append(session, given, options.expectedPosition, this.nowMicros, reserved, fill);
    const { messages: all, position } = appended;
    if (all.length > session.messages.length) {
      noteNamed(session, partsOf(all));
      session.messages = all;
      session.undo = null;
      session.updateTimeMicros = this.nowMicros;
    }
    return { messageIds, position };
  }

  override async logMessage({ sessionId, ...message }: LoggedMessage, options?: LogOptions) {
    return this.logMessages(sessionId, [message], options);
  }

  override async logTurn(sessionId: string, appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    const outcomes: TurnOutcome[] = [];
    for (const { messages, options } of appends) {
      const logged = this.logMessages(sessionId, messages, options);
      outcomes.push(
        await logged.then(
          (result) => ({ ok: true, result }),
          (error: unknown) => ({ ok: false, error }),
        ),
      );
    }
    return outcomes;
  }

  override async forkConversation(
    sourceSessionId: string,
    newSessionId: string,
    options: ForkOptions,
  ): Promise<ForkResult> {
    if (options.as === "copy") return this.#copy(sourceSessionId, newSessionId, options);
    const { as, upToMessageId, title } = options;
    const origin = JSON.stringify([as, sourceSessionId, upToMessageId ?? ""]);
    const source = this.sourceOf(sourceSessionId);
    const existing = this.living.get(newSessionId);
    if (existing !== undefined) {
      const isSame = existing.origin === origin && (source === undefined || source.uid === existing.sourceUid);
      if (!isSame) throw alreadyExists(newSessionId);
      return forked(existing);
    }
    if (source === undefined) throw notFound("Session", sourceSessionId);
    const messages = source.messages.slice(0, lengthUpTo(source, upToMessageId));
    const made = this.add({
      sessionId: newSessionId,
      parentId: sourceSessionId,
      forkPointId: messages.at(-1)?.id ?? "",
      inheritedCount: messages.length,
      origin,
      sourceUid: source.uid,
      ancestors: source.ancestors,
      ancestorUids: source.ancestorUids,
      owner: this.caller ?? source.owner,
      title: title ?? source.title,
      metadata: source.metadata,
      labels: source.labels,
      messages,
      annotations: messages.length === 0 ? [] : source.annotations,
    });
    return forked(made);
  }

  override async truncateMessages(sessionId: string, upToMessageId: string | null, options: TruncateOptions = {}) {
    const session = this.find(sessionId);
    checkRevision(session, options.expectedRevision);
    const kept = upToMessageId === null ? [] : session.messages.slice(0, lengthUpTo(session, upToMessageId));
    for (const { message } of openDrafts(session)) discardDraft(session, message.id);
    const removed = session.messages.length - kept.length;
    if (removed === 0) return 0;
    session.undo = options.keepForUnrevert ? (session.undo ?? session.messages) : null;
    session.messages = kept;
    this.touch(session);
    return removed;
  }

  override async updateMessage(
    sessionId: string,
    messageId: string,
    { role, parts, metadata, usage, timestampMicros }: MessageChange,
    options?: RevisionOptions,
  ): Promise<ChatMessage> {
    const { session, place } = this.#findMessage(sessionId, messageId, options);
    const old = session.messages[place] as NaiveMessage;
    if (timestampMicros !== undefined && timestampMicros !== old.timestampMicros) throw invalidArgument("Another time");
    const changed = {
      ...old,
      role: role ?? old.role,
      parts: parts === undefined ? old.parts : filled(session, parts),
      metadata: metadata ?? old.metadata,
      usage: usage ? knownUsage(usage) : old.usage,
    };
    if (!sameContent(old, changed)) this.#edit(session, session.messages.with(place, changed));
    return shown(session)[place] as ChatMessage;
  }

  override async deleteMessage(sessionId: string, messageId: string, options?: RevisionOptions): Promise<void> {
    const { session, place } = this.#findMessage(sessionId, messageId, options);
    this.#edit(session, session.messages.toSpliced(place, 1));
  }

  override async uploadAttachment(
    sessionId: string,
    { attachmentId = "" }: NewAttachment,
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<Attachment> {
    const session = this.find(sessionId);
    let bytes = "";
    for await (const chunk of chunks) bytes += Buffer.from(chunk);
    const attachment = upload(session, attachmentId, bytes);
    this.uploads.push({ bytes, isNamed: false });
    return { ...attachment, createTimeMicros: 0 };
  }

  override async getAttachment(sessionId: string, attachmentId: string): Promise<AttachmentContent> {
    const session = this.find(sessionId);
    const attachment = { ...read(session, attachmentId), createTimeMicros: 0 };
    const { bytes = "" } = this.uploads.find((one) => factsOf("", one.bytes).sha256 === attachment.sha256) ?? {};
    return { attachment, pieces: chunksOf(bytes) };
  }

  override async listAttachments(sessionId: string): Promise<AttachmentPage> {
    const rest = { mediaType: "", name: "", size: 0, sha256: "", createTimeMicros: 0 };
    const list = listed(this.find(sessionId));
    return { attachments: list.map(([attachmentId, messageIds]) => ({ attachmentId, messageIds, ...rest })) };
  }

  override async deleteAttachment(sessionId: string, attachmentId: string): Promise<void> {
    remove(this.find(sessionId), attachmentId);
  }

  /** Whether nobody can know what a session has under one of these ids. */
  isUncertain(sessionId: string, attachmentIds: readonly string[]): boolean {
    const session = this.all.find((one) => one.sessionId === sessionId);
    return session !== undefined && attachmentIds.some((id) => isUncertain(session, id));
  }

  /** Whether a copy finds other attachments under the ids of its own, which then get other ids. */
  isRenaming(sourceSessionId: string, targetSessionId: string): boolean {
    const source = this.all.find((one) => one.sessionId === sourceSessionId);
    const target = this.all.find((one) => one.sessionId === targetSessionId);
    return source !== undefined && target !== undefined && hasOthers(target, source.messages);
  }

  override async restoreMessages(sessionId: string): Promise<number> {
    const session = this.find(sessionId);
    if (session.undo === null) throw new DomainError("failed_precondition", "Nothing to bring back");
    const restored = session.undo.length - session.messages.length;
    session.messages = session.undo;
    session.undo = null;
    this.touch(session);
    return restored;
  }

  /** The ancestors are shown up to the first that the caller may not see. A session made again is another one. */
  #shown(session: NaiveSession, includeAncestors: boolean | undefined): readonly ChatMessage[] {
    if (includeAncestors !== true) return shown(session);
    const visible = new Set([...this.living.values()].map(({ uid }) => uid));
    const hidden = this.caller === undefined ? -1 : session.ancestorUids.findLastIndex((uid) => !visible.has(uid));
    return shown(session, hidden + 1);
  }

  #copy(sourceSessionId: string, targetSessionId: string, { upToMessageId, expectedRevision }: ForkOptions) {
    if (sourceSessionId === targetSessionId) throw invalidArgument("A session cannot be copied onto itself");
    const source = this.sourceOf(sourceSessionId);
    if (source === undefined) throw notFound("Session", sourceSessionId);
    const target = this.find(targetSessionId);
    checkRevision(target, expectedRevision);
    const reserved = openDrafts(target).map(({ message }) => message.id);
    const ids = new Set([...target.messages.map(({ id }) => id), ...reserved]);
    const copied = source.messages.slice(0, lengthUpTo(source, upToMessageId)).filter(({ id }) => !ids.has(id));
    if (copied.length === 0) return { forkPointId: null, copiedCount: 0 };
    copyNamed(target, copied, this.uploads);
    target.messages = copied.reduce(insert, target.messages);
    target.undo = null;
    this.touch(target);
    return { forkPointId: (copied.at(-1) as NaiveMessage).id, copiedCount: copied.length };
  }

  #findMessage(sessionId: string, messageId: string, options: RevisionOptions = {}) {
    const session = this.find(sessionId);
    const place = session.messages.findIndex(({ id }) => id === messageId);
    if (place < 0) throw notFound("Message", messageId);
    checkRevision(session, options.expectedRevision);
    return { session, place };
  }

  /** Replaces the messages. After that nothing that a revert removed can be brought back. */
  #edit(session: NaiveSession, messages: readonly NaiveMessage[]): void {
    session.messages = messages;
    session.undo = null;
    this.touch(session);
  }
}

function partsOf(messages: readonly NaiveMessage[]): readonly Part[] {
  return messages.flatMap(({ parts }) => parts);
}

function forked(session: NaiveSession) {
  const { forkPointId, inheritedCount } = session;
  return { forkPointId: forkPointId || null, copiedCount: inheritedCount, session: toSession(session) };
}

function isInTime({ timestampMicros }: ChatMessage, { sinceMicros, untilMicros }: MessageQuery): boolean {
  return timestampMicros >= (sinceMicros ?? -Infinity) && timestampMicros < (untilMicros ?? Infinity);
}

function queryOf({ newestFirst = false, includeAncestors = false, sinceMicros, untilMicros }: MessageQuery) {
  return { newestFirst, includeAncestors, sinceMicros, untilMicros };
}

function placeAfter(cursor: MessageCursor, session: NaiveSession, list: readonly ChatMessage[], query: MessageQuery) {
  const isSameList = JSON.stringify(queryOf(cursor.query)) === JSON.stringify(queryOf(query));
  if (cursor.sessionUid !== `${session.uid}` || !isSameList) throw invalidArgument("A cursor of another list");
  const place = list.findIndex(
    (message) => message.id === cursor.messageId && ancestorPlace(session, message) === cursor.seq,
  );
  if (place < 0) throw new DomainError("failed_precondition", "The cursor's message is gone");
  return place + 1;
}

/**
 * Returns the index of a message among the session's ancestors, which never change and may hold an id twice. Returns -1
 * for the session's own messages, whose ids are unique.
 */
function ancestorPlace(session: NaiveSession, message: ChatMessage): number {
  return message.position === undefined ? session.ancestors.indexOf(message as NaiveMessage) : -1;
}

function toHit({ id, sessionId, role, timestampMicros, position = -1 }: ChatMessage, sessionTitle: string): SearchHit {
  const snippet = { text: "", highlights: [] };
  return { sessionId, sessionTitle, messageId: id, role, timestampMicros, position, snippet };
}
