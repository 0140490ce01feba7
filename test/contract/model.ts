import {
  type ChatMessage,
  type MessageChange,
  type NewChatMessage,
  sameContent,
} from "../../src/domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../src/domain/errors.js";
import { sameStruct } from "../../src/domain/json.js";
import { labelTexts } from "../../src/domain/labels.js";
import type { MessageCursor, MessageQuery } from "../../src/domain/page.js";
import type { SearchHit, SearchPage } from "../../src/domain/search.js";
import type { NewSession, Session, SessionChange } from "../../src/domain/session.js";
import type { Todo } from "../../src/domain/todo.js";
import type {
  ForkOptions,
  ForkResult,
  GetMessagesOptions,
  ListMessagesOptions,
  LoggedMessage,
  LogOptions,
  RevisionOptions,
  SearchOptions,
  StorageProvider,
  TruncateOptions,
  TurnAppend,
  TurnOutcome,
} from "../../src/storage/storage-provider.js";
import { discardDraft, openDrafts } from "./model/naive-drafts.js";
import { NaiveDraftsProvider } from "./model/naive-drafts-provider.js";
import {
  ancestryOfChild,
  append,
  insert,
  lengthUpTo,
  type NaiveMessage,
  type NaiveSession,
  shown,
  toSession,
} from "./model/naive-session.js";

/** What providers of one naive store share. */
export interface NaiveState {
  readonly sessions: Map<string, NaiveSession>;
  todos: { readonly todos: readonly Todo[]; readonly revision: number };
  made: number;
}

export function naiveState(): NaiveState {
  return { sessions: new Map(), todos: { todos: [], revision: 0 }, made: 0 };
}

/**
 * The contract of StorageProvider in the simplest words: every history is an array, sorted stably by timestamp, and every fork a copy. What the
 * real providers are compared with. Follows nobody.
 */
export class NaiveStorageProvider extends NaiveDraftsProvider {
  readonly #state: NaiveState;
  readonly #now: () => number;
  readonly #futureMs: number;

  /** What a session is, as long as it is not deleted and made again. */
  uidOf(sessionId: string): number | undefined {
    return this.#living.get(sessionId)?.uid;
  }

  constructor(state: NaiveState, nowMicros: () => number = () => Date.now() * 1000, futureMs = 5 * 60_000) {
    super();
    this.#state = state;
    this.#now = nowMicros;
    this.#futureMs = futureMs;
  }

  override async createSession(session: NewSession): Promise<Session> {
    const { sessionId = this.#makeId(), parentId, title = "", metadata, labels = {} } = session;
    const existing = this.#living.get(sessionId);
    if (existing !== undefined) {
      if (!holds(existing, session)) throw alreadyExists(sessionId);
      return toSession(existing);
    }
    const ancestors = parentId ? ancestryOfChild(this.find(parentId)) : [];
    return toSession(this.#add({ sessionId, parentId: parentId ?? "", title, metadata, labels, ancestors }));
  }

  override async getSession(sessionId: string): Promise<Session> {
    return toSession(this.find(sessionId));
  }

  override async loadSession(sessionId: string, options: { limit: number; cursor?: MessageCursor | undefined }) {
    const page = await this.listMessages(sessionId, { ...options, newestFirst: true });
    const [session, drafts] = [toSession(this.find(sessionId)), await this.listDrafts(sessionId)];
    return { session, messages: page.messages.toReversed(), next: page.next, drafts };
  }

  override async listSessions({
    parentId,
    labels = [],
    limit,
    cursor,
  }: Parameters<StorageProvider["listSessions"]>[0]) {
    const sessions = [...this.#living.values()]
      .filter((session) => parentId === "" || session.parentId === parentId)
      .filter((session) =>
        labels.every((label) => Object.entries(session.labels).some((own) => own.join("=") === label)),
      )
      .sort(newestUpdateFirst)
      .map((session) => ({ ...toSession(session), messageCount: undefined }));
    const from = cursor === undefined ? 0 : sessions.findIndex((session) => newestUpdateFirst(cursor, session) < 0);
    const page = from < 0 ? [] : sessions.slice(from, from + limit);
    const last = page.at(-1);
    if (last === undefined || last === sessions.at(-1)) return { sessions: page };
    const { updateTimeMicros, sessionId } = last;
    return { sessions: page, next: { parentId, updateTimeMicros, sessionId } };
  }

  /** Found where it was written to first, and nowhere else. */
  override async searchMessages({ terms, labels = [], limit, cursor }: SearchOptions): Promise<SearchPage> {
    const hits = [...this.#living.values()]
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

  override async updateSession(
    sessionId: string,
    { title, metadata, labels, expireTimeMicros }: SessionChange,
    options?: { expectedRevision?: number | undefined },
  ): Promise<Session> {
    const session = this.find(sessionId);
    checkRevision(session, options?.expectedRevision);
    const isSame =
      (title === undefined || title === session.title) &&
      (metadata === undefined || sameStruct(metadata, session.metadata)) &&
      (labels === undefined || sameStruct(labels, session.labels));
    const isSameExpiry = expireTimeMicros === undefined || (expireTimeMicros ?? undefined) === session.expireTimeMicros;
    if (isSame && isSameExpiry) return toSession(session);
    if (expireTimeMicros !== undefined) session.expireTimeMicros = expireTimeMicros ?? undefined;
    session.title = title ?? session.title;
    session.metadata = metadata ?? session.metadata;
    session.labels = labels ?? session.labels;
    this.#touch(session);
    return toSession(session);
  }

  override async deleteSession(sessionId: string): Promise<void> {
    this.find(sessionId);
    this.#state.sessions.delete(sessionId);
  }

  override async getSessionMessages(sessionId: string, options: GetMessagesOptions = {}) {
    const { includeAncestors, limit, offset } = options;
    const all = shown(this.find(sessionId), includeAncestors);
    if (offset !== undefined) return all.slice(offset, limit === undefined ? undefined : offset + limit);
    return limit === undefined ? all : all.slice(Math.max(0, all.length - limit));
  }

  override async listMessages(sessionId: string, options: ListMessagesOptions) {
    const session = this.find(sessionId);
    const inTime = shown(session, options.includeAncestors).filter((message) => isInTime(message, options));
    const list = options.newestFirst ? inTime.toReversed() : inTime;
    const from = options.cursor ? placeBehind(options.cursor, session, list, options) : (options.offset ?? 0);
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
    const given = messages.map((message) => ({ ...message, id: message.id || this.#makeId() }));
    const messageIds = given.map(({ id }) => id);
    if (given.length === 0 || new Set(messageIds).size < given.length)
      throw invalidArgument("No message, or one twice");
    const latest = this.nowMicros + this.#futureMs * 1000;
    if (given.some(({ timestampMicros = this.nowMicros }) => timestampMicros > latest))
      throw invalidArgument("Too far ahead");
    const session = this.find(sessionId);
    const reserved = openDrafts(session).map(({ message }) => message.id);
    const { messages: all, position } = append(session, given, options.expectedPosition, this.nowMicros, reserved);
    if (all !== session.messages) {
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
    const source = this.#living.get(sourceSessionId);
    const existing = this.#living.get(newSessionId);
    if (existing !== undefined) {
      const isSame = existing.origin === origin && (source === undefined || source.uid === existing.sourceUid);
      if (!isSame) throw alreadyExists(newSessionId);
      return forked(existing);
    }
    if (source === undefined) throw notFound("Session", sourceSessionId);
    const messages = source.messages.slice(0, lengthUpTo(source, upToMessageId));
    const made = this.#add({
      sessionId: newSessionId,
      parentId: sourceSessionId,
      forkPointId: messages.at(-1)?.id ?? "",
      inheritedCount: messages.length,
      origin,
      sourceUid: source.uid,
      ancestors: source.ancestors,
      title: title ?? source.title,
      metadata: source.metadata,
      labels: source.labels,
      messages,
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
    this.#touch(session);
    return removed;
  }

  override async updateMessage(
    sessionId: string,
    messageId: string,
    { role, parts, metadata, timestampMicros }: MessageChange,
    options?: RevisionOptions,
  ): Promise<ChatMessage> {
    const { session, place } = this.#findMessage(sessionId, messageId, options);
    const old = session.messages[place] as NaiveMessage;
    if (timestampMicros !== undefined && timestampMicros !== old.timestampMicros) throw invalidArgument("Another time");
    const changed = {
      ...old,
      role: role ?? old.role,
      parts: parts ?? old.parts,
      metadata: metadata ?? old.metadata,
    };
    if (!sameContent(old, changed)) this.#edit(session, session.messages.with(place, changed));
    return shown(session)[place] as ChatMessage;
  }

  override async deleteMessage(sessionId: string, messageId: string, options?: RevisionOptions): Promise<void> {
    const { session, place } = this.#findMessage(sessionId, messageId, options);
    this.#edit(session, session.messages.toSpliced(place, 1));
  }

  override async restoreMessages(sessionId: string): Promise<number> {
    const session = this.find(sessionId);
    if (session.undo === null) throw new DomainError("failed_precondition", "Nothing to bring back");
    const restored = session.undo.length - session.messages.length;
    session.messages = session.undo;
    session.undo = null;
    this.#touch(session);
    return restored;
  }

  override async readTodos() {
    return this.#state.todos;
  }

  override async replaceTodos(todos: readonly Todo[], ifRevision: number): Promise<boolean> {
    if (this.#state.todos.revision !== ifRevision) return false;
    this.#state.todos = { todos, revision: ifRevision + 1 };
    return true;
  }

  override async sweep() {
    return { sessions: 0, ranges: 0, repairedForks: 0, orphans: 0 };
  }

  #copy(sourceSessionId: string, targetSessionId: string, { upToMessageId, expectedRevision }: ForkOptions) {
    if (sourceSessionId === targetSessionId) throw invalidArgument("A session cannot be copied onto itself");
    const source = this.find(sourceSessionId);
    const target = this.find(targetSessionId);
    checkRevision(target, expectedRevision);
    const reserved = openDrafts(target).map(({ message }) => message.id);
    const ids = new Set([...target.messages.map(({ id }) => id), ...reserved]);
    const copied = source.messages.slice(0, lengthUpTo(source, upToMessageId)).filter(({ id }) => !ids.has(id));
    if (copied.length === 0) return { forkPointId: null, copiedCount: 0 };
    target.messages = copied.reduce(insert, target.messages);
    target.undo = null;
    this.#touch(target);
    return { forkPointId: (copied.at(-1) as NaiveMessage).id, copiedCount: copied.length };
  }

  #findMessage(sessionId: string, messageId: string, options: RevisionOptions = {}) {
    const session = this.find(sessionId);
    const place = session.messages.findIndex(({ id }) => id === messageId);
    if (place < 0) throw notFound("Message", messageId);
    checkRevision(session, options.expectedRevision);
    return { session, place };
  }

  /** Ends what a revert could bring back. */
  #edit(session: NaiveSession, messages: readonly NaiveMessage[]): void {
    session.messages = messages;
    session.undo = null;
    this.#touch(session);
  }

  protected get nowMicros(): number {
    return this.#now();
  }

  protected get all(): readonly NaiveSession[] {
    return [...this.#living.values()];
  }

  protected find(sessionId: string): NaiveSession {
    const session = this.#living.get(sessionId);
    if (session === undefined) throw notFound("Session", sessionId);
    return session;
  }

  /** Without the sessions whose time has passed, which are deleted. */
  get #living(): ReadonlyMap<string, NaiveSession> {
    for (const [id, { expireTimeMicros = Number.POSITIVE_INFINITY }] of this.#state.sessions) {
      if (expireTimeMicros <= this.nowMicros) this.#state.sessions.delete(id);
    }
    return this.#state.sessions;
  }

  #add(
    given: Partial<NaiveSession> & Pick<NaiveSession, "sessionId" | "parentId" | "title" | "ancestors">,
  ): NaiveSession {
    const now = this.nowMicros;
    const session: NaiveSession = {
      uid: ++this.#state.made,
      forkPointId: "",
      inheritedCount: 0,
      createTimeMicros: now,
      updateTimeMicros: now,
      origin: "",
      sourceUid: 0,
      revision: 1,
      isRevisionKnown: true,
      expireTimeMicros: undefined,
      drafts: [],
      messages: [],
      undo: null,
      ...given,
      metadata: given.metadata,
      labels: given.labels ?? {},
    };
    this.#state.sessions.set(session.sessionId, session);
    return session;
  }

  #touch(session: NaiveSession): void {
    session.revision += 1;
    session.updateTimeMicros = this.nowMicros;
  }

  #makeId(): string {
    return `made ${++this.#state.made}`;
  }
}

function checkRevision({ revision }: NaiveSession, expectedRevision = revision): void {
  if (expectedRevision !== revision) throw new DomainError("aborted", `The session's revision is ${revision}`);
}

function holds(existing: NaiveSession, { parentId, title, metadata, labels = {} }: NewSession): boolean {
  return (
    (!parentId || parentId === existing.parentId) &&
    (!title || title === existing.title) &&
    (metadata === undefined || sameStruct(metadata, existing.metadata)) &&
    (sameStruct(labels, {}) || sameStruct(labels, existing.labels))
  );
}

function forked(session: NaiveSession) {
  const { forkPointId, inheritedCount } = session;
  return { forkPointId: forkPointId || null, copiedCount: inheritedCount, session: toSession(session) };
}

type UpdateOrder = { readonly updateTimeMicros: number; readonly sessionId: string };

function newestUpdateFirst(a: UpdateOrder, b: UpdateOrder): number {
  return (
    b.updateTimeMicros - a.updateTimeMicros || (a.sessionId < b.sessionId ? 1 : a.sessionId > b.sessionId ? -1 : 0)
  );
}

function isInTime({ timestampMicros }: ChatMessage, { sinceMicros, untilMicros }: MessageQuery): boolean {
  return timestampMicros >= (sinceMicros ?? -Infinity) && timestampMicros < (untilMicros ?? Infinity);
}

function queryOf({ newestFirst = false, includeAncestors = false, sinceMicros, untilMicros }: MessageQuery) {
  return { newestFirst, includeAncestors, sinceMicros, untilMicros };
}

function placeBehind(cursor: MessageCursor, session: NaiveSession, list: readonly ChatMessage[], query: MessageQuery) {
  const isSameList = JSON.stringify(queryOf(cursor.query)) === JSON.stringify(queryOf(query));
  if (cursor.sessionUid !== `${session.uid}` || !isSameList) throw invalidArgument("A cursor of another list");
  const place = list.findIndex(
    (message) => message.id === cursor.messageId && ancestorPlace(session, message) === cursor.seq,
  );
  if (place < 0) throw new DomainError("failed_precondition", "The cursor's message is gone");
  return place + 1;
}

/** Ancestors never change, and may show an id twice; -1 for the session's own, whose ids are unique. */
function ancestorPlace(session: NaiveSession, message: ChatMessage): number {
  return message.position === undefined ? session.ancestors.indexOf(message as NaiveMessage) : -1;
}

function alreadyExists(sessionId: string): DomainError {
  return new DomainError("already_exists", `Session ${sessionId} already exists`);
}

function toHit({ id, sessionId, role, timestampMicros, position = -1 }: ChatMessage, sessionTitle: string): SearchHit {
  const snippet = { text: "", highlights: [] };
  return { sessionId, sessionTitle, messageId: id, role, timestampMicros, position, snippet };
}
