import { checkOwner, type TicketMark } from "../domain/access.js";
import type { Call } from "../domain/call.js";
import { checkCall } from "../domain/call.js";
import type { ChatMessage, MessageChange, NewChatMessage } from "../domain/chat-message.js";
import { invalidArgument, NotImplementedError, notFound } from "../domain/errors.js";
import type { FeedEvent, FeedFilter } from "../domain/feed.js";
import { ulidFactory } from "../domain/ids.js";
import { checkLabelFilter } from "../domain/labels.js";
import type {
  DeletedSessionPage,
  FollowEvent,
  FollowPosition,
  LoadedSession,
  MessageCursor,
  MessagePage,
  SessionPage,
} from "../domain/page.js";
import { parseSearch, type SearchPage } from "../domain/search.js";
import type { NewSession, Session, SessionChange } from "../domain/session.js";
import { checkTimeZone, parseGroupBy, type UsagePage } from "../domain/usage-groups.js";
import { checkExpected, checkId, checkOptionalId, checkText } from "../domain/validate.js";
import { checkMessageChange, checkNewMessages } from "../domain/validate-message.js";
import { checkMessageQuery, checkUpdateTimes, pageLimit } from "../domain/validate-page.js";
import { checkNewSession, checkSessionChange, checkTitle } from "../domain/validate-session.js";
import { checkName } from "../domain/validate-usage.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type {
  EraseOptions,
  EraseReport,
  ForkOptions,
  GetMessagesOptions,
  ListMessagesOptions,
  LogResult,
  OwnerErasure,
} from "../storage/storage-provider.js";
import { AnnotationPool } from "./annotation-pool.js";
import { AppendQueue } from "./append-queue.js";
import { AttachmentPool } from "./attachment-pool.js";
import { computeLoad, computePage, computeSession } from "./computed-reads.js";
import { DraftPool } from "./draft-pool.js";
import { checkReadOptions, readMessages, unlessLacking } from "./message-reads.js";
import type { PoolContext } from "./pool-context.js";
import type {
  AppendOptions,
  CopiedMessages,
  CopyOptions,
  EditOptions,
  ForkedSession,
  ForkSessionOptions,
  ListDeletedSessionsOptions,
  ListSessionsOptions,
  RestoredSession,
  RevertedSession,
  RevertOptions,
  SearchMessagesOptions,
  ShareSessionOptions,
  SumUsageOptions,
} from "./session-pool-types.js";
import { storeTurn } from "./store-turn.js";
import { TurnLock } from "./turn-lock.js";

/**
 * Sessions and their message histories: the API that routes call. Changes of one session take turns; reads never wait.
 * Everything rejects with DomainError: `not_found` for an unknown session (the spec's KeyError), `invalid_argument` for
 * malformed input or input beyond a limit, `deadline_exceeded` and `canceled` when the call ends, `unavailable`, and
 * `unimplemented` (NotImplementedError) when the provider lacks an operation that cannot be computed from others.
 * Without a storage manager, reads return nothing and changes are `unimplemented`.
 *
 * The file is long because the spec asks for one class with all of these operations. Each is documented here and only
 * checks its arguments and passes them on.
 */
export class SessionPool {
  /** One turn at a time for each session that is being changed. */
  readonly turnLock = new TurnLock();
  /** Messages that are still being written. */
  readonly drafts: DraftPool;
  /** Bytes beside the messages. */
  readonly attachments: AttachmentPool;
  /** Notes and feedback on messages. */
  readonly annotations: AnnotationPool;
  readonly #root: PoolContext;
  readonly #appends: AppendQueue;
  readonly #makeId = ulidFactory();

  constructor(root: PoolContext) {
    this.#root = root;
    this.drafts = new DraftPool(root, this.turnLock);
    this.attachments = new AttachmentPool(root);
    this.annotations = new AnnotationPool(root, this.turnLock);
    this.#appends = new AppendQueue(this.turnLock, root.limits, (sessionId, appends) =>
      storeTurn(this.#storageFor("appending messages"), sessionId, appends),
    );
  }

  /** Counts the messages, without loading them if the provider can. */
  async getMessageCount(sessionId: string, call?: Call): Promise<number> {
    const storage = this.#storageOf(sessionId, call);
    if (storage === undefined) return 0;
    return await unlessLacking(
      () => storage.getMessageCount(sessionId, call),
      async () => (await this.#all(storage, sessionId, call)).length,
    );
  }

  /** Reads one message; null when the session has none with this id. */
  async getMessage(sessionId: string, messageId: string, call?: Call): Promise<ChatMessage | null> {
    const storage = this.#storageOf(sessionId, call);
    checkId("message_id", messageId, this.#root.limits);
    if (storage === undefined) return null;
    return await unlessLacking(
      () => storage.getMessage(sessionId, messageId, call),
      async () => (await this.#all(storage, sessionId, call)).find(({ id }) => id === messageId) ?? null,
    );
  }

  /**
   * Reads messages ordered by timestamp, oldest first. `limit` alone gives the last messages; an `offset`, even 0,
   * counts from the oldest. No limit when absent. If the provider supports neither, it is asked for all messages (the
   * spec's fallback rule).
   */
  async getMessages(sessionId: string, options: GetMessagesOptions = {}): Promise<readonly ChatMessage[]> {
    const storage = this.#storageOf(sessionId, options);
    checkReadOptions(options, this.#root.limits);
    return storage === undefined ? [] : await readMessages(storage, sessionId, options, this.#root.logger);
  }

  /**
   * Reads one page of a list of messages. `next` continues after its last message, whatever was appended meanwhile.
   * `failed_precondition`: the cursor's message is no longer in the list.
   */
  async listMessages(sessionId: string, options: ListMessagesOptions): Promise<MessagePage> {
    const storage = this.#storageOf(sessionId, options);
    checkReadOptions(options, this.#root.limits);
    if (storage === undefined) return { messages: [] };
    const page = { ...options, limit: pageLimit(options.limit, this.#root.limits) };
    return await unlessLacking(
      () => storage.listMessages(sessionId, page),
      async () => computePage(sessionId, await this.#all(storage, sessionId, options), page, this.#root.limits),
    );
  }

  /**
   * Finds messages of all sessions by their words, newest first, each in the session that it was first written to, as
   * long as that session shows it. `next` may continue even when the page holds fewer hits than `limit`, or none.
   * `unimplemented`: searching is off, or the store cannot search. `not_found`: there is no session `sessionId`.
   */
  async searchMessages(options: SearchMessagesOptions): Promise<SearchPage> {
    checkCall(options);
    const { q, labels = [], owner, sessionId, limit, ...rest } = options;
    const terms = parseSearch(q);
    checkLabelFilter(labels, this.#root.limits);
    checkOptionalId("session_id", sessionId, this.#root.limits);
    checkOwner("owner", owner);
    if (rest.role !== undefined) checkText("role", rest.role);
    checkMessageQuery(rest);
    const page = {
      ...rest,
      terms,
      labels,
      owner,
      sessionId: sessionId || undefined,
      limit: pageLimit(limit, this.#root.limits),
    };
    return await this.#storageFor("searching messages").searchMessages(page);
  }

  /**
   * Adds up the usage of messages by groups, each session's own messages as far as it shows them. While the sums are
   * not complete, a page has no rows, and `next` continues. `not_found`: there is no session `sessionId`.
   * `resource_exhausted`: too many sums are being made.
   */
  async sumUsage(options: SumUsageOptions): Promise<UsagePage> {
    checkCall(options);
    const { groupBy, timeZone, labels = [], owner, sessionId, model, limit, ...rest } = options;
    const groups = parseGroupBy(groupBy ?? "");
    checkMessageQuery(rest);
    checkTimeZone("time_zone", timeZone);
    checkLabelFilter(labels, this.#root.limits);
    checkOwner("owner", owner);
    checkOptionalId("session_id", sessionId, this.#root.limits);
    checkName("model", model);
    const query = {
      ...rest,
      groupBy: groups,
      timeZone: timeZone || undefined,
      labels,
      owner,
      sessionId: sessionId || undefined,
      model: model || undefined,
      limit: pageLimit(limit, this.#root.limits),
    };
    return await this.#storageFor("summing usage").sumUsage(query);
  }

  /**
   * Follows a history, appends and edits, until the call is aborted. `from` is undefined to begin now, a position (past
   * the end: `invalid_argument`), or where an earlier follower stood. Resolves once the beginning is fixed.
   */
  async followMessages(
    sessionId: string,
    from: number | FollowPosition | undefined,
    call?: Call,
  ): Promise<AsyncIterable<FollowEvent>> {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    if (typeof from === "number") checkExpected("from_position", from);
    return await this.#storageFor("following messages").followMessages(sessionId, from, call);
  }

  /**
   * Follows the sessions that the filter holds, or held before a change, until the call is aborted. `from` is undefined
   * to begin now, or the `at` of an event. Resolves once the beginning is fixed; the first event is a heartbeat.
   */
  async watchSessions(filter: FeedFilter, from?: string, call?: Call): Promise<AsyncIterable<FeedEvent>> {
    checkCall(call);
    checkLabelFilter(filter.labels ?? [], this.#root.limits);
    checkOwner("owner", filter.owner);
    return await this.#storageFor("watching sessions").watchSessions(filter, from, call);
  }

  /**
   * Appends a message (the spec's log_message) at the end or where its timestamp belongs; resolves to its id. Errors as
   * with appendMessages.
   */
  async appendMessage(sessionId: string, message: NewChatMessage, options?: AppendOptions): Promise<string> {
    const { messageIds } = await this.appendMessages(sessionId, [message], options);
    return messageIds[0] as string;
  }

  /**
   * Appends messages, all or nothing; they are durable once it resolves. Messages that the session has already, with
   * the same id and content, are skipped, so a retry is safe. `already_exists`: the session has the id with other
   * content. `aborted`: the first message would not get `expectedPosition` and is not known yet. `createSession` makes
   * a missing session first.
   */
  async appendMessages(
    sessionId: string,
    messages: readonly NewChatMessage[],
    options?: AppendOptions,
  ): Promise<LogResult> {
    this.#checkChange(sessionId, options);
    checkNewMessages(messages, this.#root.limits);
    checkExpected("expected_position", options?.expectedPosition);
    return await this.#appends.append(sessionId, { messages, options });
  }

  /**
   * Copies messages into an existing session (the spec's fork_conversation), merged by timestamp and without ids that
   * it has already; all or nothing. Resolves to the id of the last message copied, or null when there was none.
   * `invalid_argument`: unknown `upToMessageId`, or a copy of a session into itself. `aborted`: the target does not
   * have `expectedRevision`.
   */
  async copyMessages(sourceSessionId: string, targetSessionId: string, options?: CopyOptions): Promise<string | null> {
    return (await this.copyMessagesCounted(sourceSessionId, targetSessionId, options)).forkPointId;
  }

  /** Copies messages as {@link copyMessages} does, and also resolves to how many were copied. */
  async copyMessagesCounted(
    sourceSessionId: string,
    targetSessionId: string,
    options?: CopyOptions,
  ): Promise<CopiedMessages> {
    this.#checkChange(sourceSessionId, options);
    checkId("target_session_id", targetSessionId, this.#root.limits);
    checkOptionalId("up_to_message_id", options?.upToMessageId, this.#root.limits);
    checkExpected("expected_revision", options?.expectedRevision);
    const fork: ForkOptions = { ...options, as: "copy" };
    const { forkPointId, copiedCount } = await this.turnLock.run(targetSessionId, options, () =>
      this.#storageFor("copying messages").forkConversation(sourceSessionId, targetSessionId, fork),
    );
    return { forkPointId, copiedCount };
  }

  /**
   * Keeps `upToMessageId` and everything before it, or no message when it is null; resolves to how many were removed
   * for good. `invalid_argument`: unknown message (the spec's ValueError). `aborted`: the session does not have
   * `expectedRevision`.
   */
  async truncateMessages(sessionId: string, upToMessageId: string | null, options?: EditOptions): Promise<number> {
    this.#checkCut(sessionId, upToMessageId, options);
    return await this.turnLock.run(sessionId, options, () =>
      this.#storageFor("truncating messages").truncateMessages(sessionId, upToMessageId, options),
    );
  }

  /**
   * Gives one message new content at the same place and time, and resolves to the message; earlier forks keep the old
   * content. Absent fields of `change` stay. A message that has this content already is left alone, so a retry is safe.
   * `not_found`: no such message. `aborted`: the session does not have `expectedRevision`.
   */
  async updateMessage(
    sessionId: string,
    messageId: string,
    change: MessageChange,
    options?: EditOptions,
  ): Promise<ChatMessage> {
    this.#checkEdit(sessionId, messageId, options);
    checkMessageChange(change, this.#root.limits);
    return await this.turnLock.run(sessionId, options, () =>
      this.#storageFor("updating messages").updateMessage(sessionId, messageId, change, options),
    );
  }

  /**
   * Removes one message for good; earlier forks keep it. Errors as with updateMessage; repeating a successful call is
   * `not_found`.
   */
  async deleteMessage(sessionId: string, messageId: string, options?: EditOptions): Promise<void> {
    this.#checkEdit(sessionId, messageId, options);
    await this.turnLock.run(sessionId, options, () =>
      this.#storageFor("deleting messages").deleteMessage(sessionId, messageId, options),
    );
  }

  /**
   * Makes an empty session. A retry with the same id and the same fields returns the existing session.
   * `already_exists`: the id is taken. `not_found`: no such parent.
   */
  async createSession(session: NewSession = {}, call?: Call): Promise<Session> {
    checkCall(call);
    checkNewSession(session, this.#root.limits);
    const sessionId = session.sessionId || this.#makeId();
    return await this.#storageFor("creating sessions").createSession({ ...session, sessionId }, call);
  }

  /** Reads the session with its exact message count and update time. */
  async getSession(sessionId: string, call?: Call): Promise<Session> {
    const storage = this.#storageOf(sessionId, call);
    if (storage === undefined) throw notFound("Session", sessionId);
    return await unlessLacking(
      () => storage.getSession(sessionId, call),
      async () => computeSession(sessionId, await this.#all(storage, sessionId, call)),
    );
  }

  /** Reads the session and its last `limit` messages, oldest first; with a cursor, those before the cursor. */
  async loadSession(
    sessionId: string,
    options: { readonly limit: number; readonly cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    const storage = this.#storageOf(sessionId, options);
    const page = { ...options, limit: pageLimit(options.limit, this.#root.limits) };
    if (storage === undefined) throw notFound("Session", sessionId);
    return await unlessLacking(
      () => storage.loadSession(sessionId, page),
      async () => {
        const session = await this.getSession(sessionId, options);
        return computeLoad(session, await this.#all(storage, sessionId, options), page, this.#root.limits);
      },
    );
  }

  /**
   * Lists the sessions that meet all conditions, in the order asked for. `next` may continue even when the page holds
   * fewer sessions than `limit`, or none. The view `full` adds counts and last messages. `unimplemented`: the store
   * knows only the order by update time, without conditions on times and titles and without a total.
   */
  async listSessions(options: ListSessionsOptions): Promise<SessionPage> {
    checkCall(options);
    const { parentId = "", labels = [], owner, limit } = options;
    checkOptionalId("parent_id", parentId, this.#root.limits);
    checkLabelFilter(labels, this.#root.limits);
    checkOwner("owner", owner);
    checkUpdateTimes(options);
    const page = { ...options, parentId, labels: [...new Set(labels)], limit: pageLimit(limit, this.#root.limits) };
    const total = options.withTotal && { total: { size: 0, isEstimate: false } };
    return (await this.#root.storage?.listSessions(page)) ?? { sessions: [], ...total };
  }

  /** What a ticket for this session must hold. */
  async getTicketMark(sessionId: string, call?: Call): Promise<TicketMark> {
    this.#checkChange(sessionId, call);
    return await this.#storageFor("tickets").getTicketMark(sessionId, call);
  }

  /** Ends all tickets that the session has so far, and the watches of those who hold them. */
  async revokeTickets(sessionId: string, call?: Call): Promise<void> {
    this.#checkChange(sessionId, call);
    await this.turnLock.run(sessionId, call, () => this.#storageFor("tickets").revokeTickets(sessionId, call));
  }

  /** Those of these ids that are ids of sessions which the caller may see. */
  async visibleSessions(sessionIds: Iterable<string>, call?: Call): Promise<ReadonlySet<string>> {
    checkCall(call);
    return await this.#storageFor("callers with limited access").visibleSessions(sessionIds, call);
  }

  /** Changes the title, metadata, labels, owner or expiry. `aborted`: the session does not have `expectedRevision`. */
  async updateSession(
    sessionId: string,
    change: SessionChange,
    options?: { readonly expectedRevision?: number | undefined } & Call,
  ): Promise<Session> {
    this.#checkChange(sessionId, options);
    checkSessionChange(change, this.#root.limits);
    checkExpected("expected_revision", options?.expectedRevision);
    return await this.turnLock.run(sessionId, options, () =>
      this.#storageFor("updating sessions").updateSession(sessionId, change, options),
    );
  }

  /** Deletes a session and its history. Its forks keep theirs, and its id can be used again. */
  async deleteSession(sessionId: string, call?: Call): Promise<void> {
    this.#checkChange(sessionId, call);
    await this.turnLock.run(sessionId, call, () =>
      this.#storageFor("deleting sessions").deleteSession(sessionId, call),
    );
  }

  /**
   * Brings back the session with this id that was deleted last, as it was; its revision is one higher. Repeated, it
   * returns the session as long as it was not changed otherwise than by appends. `not_found`: no such session can be
   * brought back; `already_exists`: another session has the id.
   */
  async undeleteSession(sessionId: string, call?: Call): Promise<Session> {
    this.#checkChange(sessionId, call);
    return await this.turnLock.run(sessionId, call, () =>
      this.#storageFor("undeleting sessions").undeleteSession(sessionId, call),
    );
  }

  /** Lists deleted sessions that can be brought back, the newest delete first; with `owner`, only that owner's. */
  async listDeletedSessions(options: ListDeletedSessionsOptions): Promise<DeletedSessionPage> {
    checkCall(options);
    checkOwner("owner", options.owner);
    const page = { ...options, limit: pageLimit(options.limit, this.#root.limits) };
    return await this.#storageFor("undeleting sessions").listDeletedSessions(page);
  }

  /**
   * Makes a session that begins with the source's messages up to and including `upToMessageId`, or with all of them. A
   * retry with the same `newSessionId` returns what the first call made. `already_exists`: another session has that id.
   */
  async forkSession(sourceSessionId: string, options: ForkSessionOptions = {}): Promise<ForkedSession> {
    checkOptionalId("up_to_message_id", options.upToMessageId, this.#root.limits);
    checkTitle(options.title, this.#root.limits);
    const { newSessionId, ...fork } = options;
    return await this.#makeFork(sourceSessionId, newSessionId, { ...fork, as: "fork" });
  }

  /** Makes a session with a copy of all messages, for giving to others. Retries and errors as with forkSession. */
  async shareSession(sourceSessionId: string, options: ShareSessionOptions = {}): Promise<ForkedSession> {
    const { newSessionId, ...call } = options;
    return await this.#makeFork(sourceSessionId, newSessionId, { ...call, as: "share" });
  }

  /**
   * Truncates in a way that unrevertSession can undo. Otherwise the same as truncateMessages; `aborted` also when
   * another number of messages than `expectedRemovedCount` would be removed.
   */
  async revertSession(
    sessionId: string,
    upToMessageId: string | null,
    options?: RevertOptions,
  ): Promise<RevertedSession> {
    this.#checkCut(sessionId, upToMessageId, options);
    checkExpected("expected_removed_count", options?.expectedRemovedCount);
    return await this.turnLock.run(sessionId, options, async () => {
      const storage = this.#storageFor("reverting sessions");
      const revert = { ...options, keepForUnrevert: true };
      const removedCount = await storage.truncateMessages(sessionId, upToMessageId, revert);
      return { session: await this.#changedSession(sessionId, options), removedCount };
    });
  }

  /**
   * Overwrites the content of a message, and of all its copies in the namespace, with one part of type `erased`. Takes
   * no turn, because it reaches beyond one session. Ids, places and timestamps stay. Once this has resolved, no later
   * read returns the old content, and no file of the store holds it. Repeating it is safe, and continues a call that
   * failed. Sessions that show the message get a new revision. `not_found`: the session or the message.
   */
  async eraseMessage(sessionId: string, messageId: string, options?: EraseOptions): Promise<EraseReport> {
    this.#checkChange(sessionId, options);
    checkId("message_id", messageId, this.#root.limits);
    return await this.#storageFor("erasing messages").eraseMessage(sessionId, messageId, options);
  }

  /**
   * Deletes all sessions of an owner, and overwrites everything that they hold, in the files of the store, too.
   * Sessions of others that show any of it, as forks, shares or copies, show it erased. Takes no turn, because it
   * reaches beyond one session. Repeating it is safe, and continues a call that failed.
   */
  async eraseOwner(owner: string, options?: EraseOptions): Promise<OwnerErasure> {
    checkCall(options);
    checkOwner("owner", owner);
    if (owner === "") throw invalidArgument("owner is required");
    return await this.#storageFor("erasing owners").eraseOwner(owner, options);
  }

  /**
   * Brings back what reverts have removed since the last other change of the history. `failed_precondition`: there is
   * nothing to bring back.
   */
  async unrevertSession(sessionId: string, call?: Call): Promise<RestoredSession> {
    this.#checkChange(sessionId, call);
    return await this.turnLock.run(sessionId, call, async () => {
      const restoredCount = await this.#storageFor("restoring messages").restoreMessages(sessionId, call);
      return { session: await this.#changedSession(sessionId, call), restoredCount };
    });
  }

  async #makeFork(
    sourceSessionId: string,
    newSessionId: string | undefined,
    options: ForkOptions,
  ): Promise<ForkedSession> {
    this.#checkChange(sourceSessionId, options);
    checkOptionalId("new_session_id", newSessionId, this.#root.limits);
    const target = newSessionId || this.#makeId();
    const storage = this.#storageFor("forking sessions");
    const { forkPointId, copiedCount, session } = await storage.forkConversation(sourceSessionId, target, options);
    return { session: session ?? (await this.#changedSession(target, options)), forkPointId, copiedCount };
  }

  /** A session after a change, which is told without sums of usage. */
  async #changedSession(sessionId: string, call: Call | undefined): Promise<Session> {
    const { usage: _usage, inheritedUsage: _inheritedUsage, ...session } = await this.getSession(sessionId, call);
    return session;
  }

  #storageOf(sessionId: string, call: Call | undefined): StorageManager | undefined {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    return this.#root.storage;
  }

  #checkCut(sessionId: string, upToMessageId: string | null, options: EditOptions | undefined): void {
    this.#checkChange(sessionId, options);
    if (upToMessageId !== null) checkId("up_to_message_id", upToMessageId, this.#root.limits);
    checkExpected("expected_revision", options?.expectedRevision);
  }

  #checkEdit(sessionId: string, messageId: string, options: EditOptions | undefined): void {
    this.#checkChange(sessionId, options);
    checkId("message_id", messageId, this.#root.limits);
    checkExpected("expected_revision", options?.expectedRevision);
  }

  #checkChange(sessionId: string, call: Call | undefined): void {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
  }

  #storageFor(operation: string): StorageManager {
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("SessionPool", `${operation} without a storage manager`);
    return storage;
  }

  #all(storage: StorageManager, sessionId: string, options: GetMessagesOptions = {}): Promise<readonly ChatMessage[]> {
    const { includeAncestors, deadlineMs, signal, access } = options;
    return readMessages(storage, sessionId, { includeAncestors, deadlineMs, signal, access }, this.#root.logger);
  }
}
