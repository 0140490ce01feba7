import type { TicketMark } from "../domain/access.js";
import type {
  Annotation,
  AnnotationChange,
  AnnotationCursor,
  AnnotationPage,
  NewAnnotation,
} from "../domain/annotation.js";
import type {
  Attachment,
  AttachmentContent,
  AttachmentCursor,
  AttachmentPage,
  AttachmentRange,
  NewAttachment,
} from "../domain/attachment.js";
import type { Call } from "../domain/call.js";
import type { ChatMessage, MessageChange, NewChatMessage } from "../domain/chat-message.js";
import type { Draft, DraftDelta, DraftVersion } from "../domain/draft.js";
import { NotImplementedError } from "../domain/errors.js";
import type { FeedEvent, FeedFilter } from "../domain/feed.js";
import type { JsonObject } from "../domain/json.js";
import type {
  DeletedSessionCursor,
  DeletedSessionPage,
  FollowEvent,
  FollowPosition,
  LoadedSession,
  MessageCursor,
  MessagePage,
  MessageQuery,
  SessionCursor,
  SessionFilter,
  SessionPage,
} from "../domain/page.js";
import type { SearchCursor, SearchPage, SearchTerm } from "../domain/search.js";
import type { NewSession, Session, SessionChange, SessionView } from "../domain/session.js";
import type {
  BackupMessage,
  ReadNumbers,
  RestoredImage,
  RestoreOutcome,
  SessionKeys,
  SessionSnapshot,
  StoredRange,
} from "../domain/session-image.js";
import type { SessionOrder } from "../domain/session-order.js";
import type { Todo, TodoList } from "../domain/todo.js";
import type { Usage } from "../domain/usage.js";
import type { UsageCursor, UsagePage, UsageQuery } from "../domain/usage-groups.js";

export interface GetMessagesOptions extends Call {
  /** Puts the messages of the chain of parents in front. */
  readonly includeAncestors?: boolean | undefined;
  /** The most messages to return; no limit when absent. Without `offset`, these are the last ones. */
  readonly limit?: number | undefined;
  /** How many messages to skip, counted from the oldest. When given, even as 0, `limit` counts from there. */
  readonly offset?: number | undefined;
}

export interface ListMessagesOptions extends Call, MessageQuery {
  /** The most messages of the page. The page also ends at the limit of bytes, but always holds at least one message. */
  readonly limit: number;
  /** How many messages of the query to skip. Excludes `cursor`. */
  readonly offset?: number | undefined;
  /** Continues after the message that it names. */
  readonly cursor?: MessageCursor | undefined;
}

export interface SearchOptions extends Call {
  /** Every message found holds all of these. */
  readonly terms: readonly SearchTerm[];
  /** Only messages of sessions with all of these labels, each written `key=value`. */
  readonly labels?: readonly string[] | undefined;
  /** Only messages of sessions of this owner; empty for sessions without one. */
  readonly owner?: string | undefined;
  /** Only messages of this session. */
  readonly sessionId?: string | undefined;
  /** Only messages with this role. */
  readonly role?: string | undefined;
  /** Only messages with a timestamp at or after this one. */
  readonly sinceMicros?: number | undefined;
  /** Only messages with an earlier timestamp. */
  readonly untilMicros?: number | undefined;
  /** Most hits of the page. */
  readonly limit: number;
  readonly cursor?: SearchCursor | undefined;
}

export interface SumOptions extends Call, UsageQuery {
  /** Most rows of the page. The page also ends at the limit of bytes. */
  readonly limit: number;
  /** Continues the work, or the list after a row, of an earlier page of the same query. */
  readonly cursor?: UsageCursor | undefined;
}

export interface LogOptions extends Call {
  /** Appends only if the (first) message gets this position. */
  readonly expectedPosition?: number | undefined;
}

export interface StartDraftOptions extends Call {
  /** Whether the draft is discarded, rather than finished, when nobody extends it any more. */
  readonly discardWhenAbandoned?: boolean | undefined;
}

export interface FinishDraftOptions extends Call {
  /** The version that this change follows. */
  readonly version: number;
  /** Deltas to add before finishing. */
  readonly deltas?: readonly DraftDelta[] | undefined;
  /** Fields to add to the message's metadata. */
  readonly metadata?: JsonObject | undefined;
  /** Replaces the message's usage; one that says nothing leaves it. */
  readonly usage?: Usage | undefined;
  /** Finishes only if the message gets this position. */
  readonly expectedPosition?: number | undefined;
}

export interface LogResult {
  readonly messageIds: readonly string[];
  /** The position of the first message now. */
  readonly position: number;
}

/** A message that names its session. */
export interface LoggedMessage extends NewChatMessage {
  readonly sessionId: string;
}

/** One of several appends to a session that are stored together. Each is all or nothing by itself. */
export interface TurnAppend {
  readonly messages: readonly NewChatMessage[];
  readonly options?: LogOptions | undefined;
}

export type TurnOutcome =
  | { readonly ok: true; readonly result: LogResult }
  | { readonly ok: false; readonly error: unknown };

export interface ForkOptions extends Call {
  /**
   * `fork` and `share` make the target; a retry (same source, kind and `upToMessageId`) gets the answer of the first
   * call. `copy` merges into the target, which must exist.
   */
  readonly as: "fork" | "share" | "copy";
  /** The last message to take; all when absent. */
  readonly upToMessageId?: string | undefined;
  /** For a fork: the new session's title; the source's when absent. */
  readonly title?: string | undefined;
  /** For a copy: copies only if the target has this revision. */
  readonly expectedRevision?: number | undefined;
}

export interface ForkResult {
  /** The last message taken; null when none was. */
  readonly forkPointId: string | null;
  readonly copiedCount: number;
  /** The target. Absent for `copy`. */
  readonly session?: Session | undefined;
}

export interface TruncateOptions extends Call {
  /** Keeps what is removed for `restoreMessages`. This makes a truncate a revert. */
  readonly keepForUnrevert?: boolean | undefined;
  /** Removes only if the session has this revision. */
  readonly expectedRevision?: number | undefined;
  /** Removes only if it removes exactly this number of messages. */
  readonly expectedRemovedCount?: number | undefined;
}

export interface RevisionOptions extends Call {
  /** Edits only if the session has this revision. */
  readonly expectedRevision?: number | undefined;
}

export interface SweepOptions extends Call {
  /** Also recounts forks and deletes entries that no record owns. Use it only while no server runs. */
  readonly repair?: boolean | undefined;
  /** Called after every chunk. */
  readonly onProgress?: ((report: SweepReport) => void) | undefined;
}

export interface EraseOptions extends Call {
  /** Called after every chunk. */
  readonly onProgress?: ((progress: EraseProgress) => void) | undefined;
  /** Called once for each session of an owner that is erased, when its content is overwritten. */
  readonly onSession?: ((sessionId: string) => void) | undefined;
}

export interface EraseProgress {
  /**
   * The number of this pass over the sessions, from 1. Passes go on until one finds nothing to do; there are at least
   * two.
   */
  readonly round: number;
  /** Sessions processed in this round, including deleted ones that are not swept yet. */
  readonly sessions: number;
  /** Copies found so far. */
  readonly copies: number;
}

export interface EraseReport {
  /** The number of places in the store that held the message. An earlier call may have erased some of them. */
  readonly copies: number;
}

export interface OwnerErasure {
  /** The number of sessions of the owner that were erased, including those that were deleted before. */
  readonly sessions: number;
  /** The number of places in the store that held their content. An earlier call may have erased some of them. */
  readonly copies: number;
}

export interface SweepReport {
  /** Deleted sessions that were cleared away. */
  readonly sessions: number;
  /** Ranges cut off by edits, and logs of ended drafts, that were cleared away. */
  readonly ranges: number;
  /** Attachments that were removed because nothing named them; 0 when absent. */
  readonly attachments?: number | undefined;
  /** After a repair: fork counts that were corrected, and owners without a record that were cleared away. */
  readonly repairedForks: number;
  readonly orphans: number;
  /** Sessions that the sweep left to the next one because of a failure. Each failure was reported. */
  readonly failed: number;
}

/**
 * Persistence of sessions, histories and todos; StorageManager forwards to it. Every operation here raises
 * NotImplementedError with the class's name, so that a provider implements only what it supports; SessionPool computes
 * the reads that it can from `getSessionMessages`. All operations reject with DomainError: `not_found` for an unknown
 * session (the spec's KeyError), `unavailable`, `deadline_exceeded`, `canceled`. A session that the `access` of a call
 * does not permit is answered as one that does not exist; a provider that ignores `access` serves only callers without
 * it. The file is long because the whole contract is in one place.
 */
export abstract class StorageProvider {
  /**
   * Makes a session. A retry with the same id and the same fields returns the existing one. `already_exists`: the id is
   * taken. `not_found`: no such parent.
   */
  createSession(_session: NewSession, _call?: Call): Promise<Session> {
    return this.#lacks("creating sessions");
  }

  /** The session with its exact count and update time. */
  getSession(_sessionId: string, _call?: Call): Promise<Session> {
    return this.#lacks("reading sessions");
  }

  /**
   * The session and its last `limit` messages, oldest first, as of one moment. With a cursor, the `limit` messages
   * before it.
   */
  loadSession(
    _sessionId: string,
    _options: { limit: number; cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    return this.#lacks("loading sessions");
  }

  /**
   * The sessions that meet all conditions, in the order asked for, which is the most recently updated first when none
   * is. A list that is continued at `next` has every session once that did not change meanwhile, as far as the change
   * matters to its conditions and its order. A page whose conditions and order share an index costs what it returns:
   * none, the owner, the parent, one label, or the owner and one label, with or without bounds of the update time, by
   * update time; none or the owner by the other orders. For all others, the store reads those who meet the rarest
   * condition, or looks at so many sessions in their order, and the page may hold fewer than `limit`, or none, although
   * `next` goes on. `full` adds `messageCount` and `lastMessage`; those of one session are as of one moment, not
   * earlier than the call. A page ends before the limit of bytes, but has at least one session if it found one. With
   * `withTotal`, the page says how many sessions all pages have together, whatever the cursor: exactly up to some
   * thousands, and estimated from a sample beyond. A provider may refuse what it lacks by NotImplementedError: orders,
   * conditions on update times and titles, and totals.
   */
  listSessions(
    _options: SessionFilter & {
      order?: SessionOrder | undefined;
      withTotal?: boolean | undefined;
      view?: SessionView | undefined;
      limit: number;
      cursor?: SessionCursor | undefined;
    } & Call,
  ): Promise<SessionPage> {
    return this.#lacks("listing sessions");
  }

  /**
   * Changes title, metadata, labels, owner and expiry, and no message. Another owner ends the open drafts, all tickets,
   * and the followers of the owner before. `aborted`: the session does not have
   * `expectedRevision`; the text names its revision.
   */
  updateSession(
    _sessionId: string,
    _change: SessionChange,
    _options?: { expectedRevision?: number | undefined } & Call,
  ): Promise<Session> {
    return this.#lacks("updating sessions");
  }

  /** What a ticket for this session must hold. */
  getTicketMark(_sessionId: string, _call?: Call): Promise<TicketMark> {
    return this.#lacks("tickets");
  }

  /** Gives the session another ticket mark, so that earlier tickets are no longer valid. */
  revokeTickets(_sessionId: string, _call?: Call): Promise<void> {
    return this.#lacks("tickets");
  }

  /** Those of these ids that are ids of sessions which the caller may see. */
  visibleSessions(_sessionIds: Iterable<string>, _call?: Call): Promise<ReadonlySet<string>> {
    return this.#lacks("callers with limited access");
  }

  /**
   * Deletes a session and its history. Its forks keep theirs. Open drafts are discarded, and tickets end for good. With
   * a time for undeleting, the session can be brought back for that long, but not beyond its expiry or its retention.
   */
  deleteSession(_sessionId: string, _call?: Call): Promise<void> {
    return this.#lacks("deleting sessions");
  }

  /**
   * Brings back the session with this id that was deleted last, of those that the caller may see and that can be
   * brought back, with all that it had; its revision is one higher, and its update time is now. All or nothing.
   * Repeated, it returns the session if that was not changed since, except by appends. not_found: there is no such
   * deleted session; already_exists: another session has the id; resource_exhausted: a quota has no room for it.
   */
  undeleteSession(_sessionId: string, _call?: Call): Promise<Session> {
    return this.#lacks("undeleting sessions");
  }

  /**
   * Deleted sessions that can be brought back, the newest delete first; only those of `owner`, which is empty for
   * sessions without one. They have `deleteTimeMicros` and `purgeTimeMicros`. Views and pages are those of
   * `listSessions`.
   */
  listDeletedSessions(
    _options: {
      owner?: string | undefined;
      view?: SessionView | undefined;
      limit: number;
      cursor?: DeletedSessionCursor | undefined;
    } & Call,
  ): Promise<DeletedSessionPage> {
    return this.#lacks("undeleting sessions");
  }

  /** Messages, ordered by timestamp, oldest first. */
  getSessionMessages(_sessionId: string, _options?: GetMessagesOptions): Promise<readonly ChatMessage[]> {
    return this.#lacks("reading messages");
  }

  /**
   * One page. `invalid_argument`: the cursor belongs to another session or query; `failed_precondition`: its message is
   * no longer in the list.
   */
  listMessages(_sessionId: string, _options: ListMessagesOptions): Promise<MessagePage> {
    return this.#lacks("listing messages by page");
  }

  /** One message; null when the session has none with this id. */
  getMessage(_sessionId: string, _messageId: string, _call?: Call): Promise<ChatMessage | null> {
    return this.#lacks("reading single messages");
  }

  /** Number of messages, without reading them. */
  getMessageCount(_sessionId: string, _call?: Call): Promise<number> {
    return this.#lacks("counting messages");
  }

  /**
   * Finds messages by the words of their parts of type `text`, newest first; where everything is searched, also by the
   * names, arguments and outputs of tools in them, and sessions by their titles. Each message is found in the session
   * that it was first written to, as long as that session shows it, and not in forks, shares and copies that took it
   * over. A page may end early, with fewer hits or none; `next` continues after it. `not_found`: no such session.
   * `unimplemented`: searching is off, or the store cannot search.
   */
  searchMessages(_options: SearchOptions): Promise<SearchPage> {
    return this.#lacks("searching messages");
  }

  /**
   * Adds up the usage of messages by groups. Each session counts the messages that it shows and that were first written
   * to it, as it is at a moment while the sum is made; sessions that live all the while are never left out, and none
   * counts twice. With `sinceMicros`, sessions whose last change is more than a day before it are left out. A call
   * looks at a limited number of messages: while the sums are not complete, a page has no rows, and `next` continues,
   * in this process or, by beginning anew there, in another one. Rows come in the order of their values, each group
   * once and whole. `not_found`: no such session. `resource_exhausted`: the process is making too many sums at once.
   */
  sumUsage(_options: SumOptions): Promise<UsagePage> {
    return this.#lacks("summing usage");
  }

  /**
   * SessionPool's append: stores messages at the end, or where their timestamps belong; all or nothing, durable when
   * resolved. Messages that the session has already, with the same id and content, are skipped. `already_exists`: the
   * session has the id with other content. `aborted`: the first message would not get `expectedPosition` and is not
   * known yet. `invalid_argument`: one id twice, or a timestamp too far ahead.
   */
  logMessages(_sessionId: string, _messages: readonly NewChatMessage[], _options?: LogOptions): Promise<LogResult> {
    return this.#lacks("appending messages");
  }

  /**
   * Stores a single message, which names its session, as {@link StorageProvider.logMessages} does. This is all that the
   * spec's providers know of appending. SessionPool uses it when logMessages is missing.
   */
  logMessage(_message: LoggedMessage, _options?: LogOptions): Promise<LogResult> {
    return this.#lacks("appending single messages");
  }

  /**
   * Stores several callers' appends to one session in their order, in one write where possible. Resolves to one outcome
   * for each, in the same order: an append that is refused, or whose own call has ended, does not affect the others.
   * Rejects only with NotImplementedError.
   */
  logTurn(_sessionId: string, _appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    return this.#lacks("appending turns");
  }

  /**
   * Starts a draft: a message that is still being written and is not part of the history. Its id, made when absent, is
   * reserved. A retry with the same content gets the same answer. `already_exists`: the history has the id, or a draft
   * has it with other content. `failed_precondition`: a draft with the id ended recently. `resource_exhausted`: the
   * session has too many open drafts.
   */
  startDraft(_sessionId: string, _message: NewChatMessage, _options?: StartDraftOptions): Promise<DraftVersion> {
    return this.#lacks("drafts");
  }

  /**
   * Adds deltas to a draft after `version`, durable when resolved; resolves to the new version. Without deltas, it must
   * renew the draft, which then counts as changed for `endAbandonedDrafts`. A retry with the same content gets the same
   * answer. `aborted`: another version is current; the text names it. `failed_precondition`: it was finished or
   * discarded. `not_found`: no such draft. `invalid_argument`: the message would exceed a limit, or the draft would
   * have too many deltas; a renewal counts as one.
   */
  extendDraft(
    _sessionId: string,
    _messageId: string,
    _version: number,
    _deltas: readonly DraftDelta[],
    _call?: Call,
  ): Promise<number> {
    return this.#lacks("drafts");
  }

  /**
   * Finishes a draft: its content is appended exactly once. A retry with the same content is answered with the position
   * that the message has then. `aborted`, `not_found` and `invalid_argument` as with extendDraft; `aborted` also when
   * the message would not get `expectedPosition`. `failed_precondition`: it was discarded, or finished with other
   * content. `already_exists`: a message of the history has its id. When another process appends such a message at the
   * same moment, the draft's message gets another id, which is returned, and has `original_message_id` in its metadata.
   */
  finishDraft(_sessionId: string, _messageId: string, _options: FinishDraftOptions): Promise<LogResult> {
    return this.#lacks("drafts");
  }

  /**
   * Discards a draft and its content. A draft that was discarded before, or does not exist, gets the same answer.
   * `failed_precondition`: it was finished.
   */
  discardDraft(_sessionId: string, _messageId: string, _call?: Call): Promise<void> {
    return this.#lacks("drafts");
  }

  /** The open drafts in their current state, in the order in which they were started. */
  listDrafts(_sessionId: string, _call?: Call): Promise<readonly Draft[]> {
    return this.#lacks("drafts");
  }

  /**
   * Ends the drafts, in all sessions, that nobody has extended for the configured time. Also carries out what a writer
   * has decided that died right after finishing or discarding its draft. Resolves to how many it ended. It is meant to
   * be called again and again: a draft is abandoned when this process has seen it unchanged for that time, whatever any
   * clock says. Any number of processes may do so at once.
   */
  endAbandonedDrafts(_call?: Call): Promise<number> {
    return this.#lacks("drafts");
  }

  /**
   * SessionPool's copyMessages, fork and share; all or nothing. `not_found`: no such source, or (`copy`) target.
   * `already_exists`: (`fork`, `share`) the target's id is taken. `invalid_argument`: `upToMessageId` is not in the
   * source, or a copy of a session into itself. `aborted`: the target does not have `expectedRevision`.
   */
  forkConversation(_sourceSessionId: string, _newSessionId: string, _options: ForkOptions): Promise<ForkResult> {
    return this.#lacks("forking conversations");
  }

  /**
   * Keeps `upToMessageId` and everything before it, or no message when it is null; resolves to how many were removed.
   * All or nothing. `invalid_argument`: unknown message. `aborted`: the session does not have `expectedRevision`, even
   * if nothing would be removed, or another number of messages than `expectedRemovedCount` would be removed; the text
   * names the revision or the number.
   */
  truncateMessages(_sessionId: string, _upToMessageId: string | null, _options?: TruncateOptions): Promise<number> {
    return this.#lacks("truncating messages");
  }

  /**
   * Brings back what truncates with `keepForUnrevert` have removed since the last other edit or append; resolves to how
   * many. `failed_precondition`: there is nothing to bring back.
   */
  restoreMessages(_sessionId: string, _call?: Call): Promise<number> {
    return this.#lacks("restoring messages");
  }

  /**
   * Gives one message new content at the same position and time, and resolves to the changed message; earlier forks
   * keep the old content. All or nothing. When the message has that content already, nothing changes. `not_found`: no
   * such message, whatever `expectedRevision` says. `aborted`: the session does not have `expectedRevision`; the text
   * names its revision. `invalid_argument`: the message would exceed its limit, or `timestampMicros` is not its time.
   */
  updateMessage(
    _sessionId: string,
    _messageId: string,
    _change: MessageChange,
    _options?: RevisionOptions,
  ): Promise<ChatMessage> {
    return this.#lacks("updating messages");
  }

  /**
   * Removes one message from this session for good. Earlier forks keep it, and the positions of later messages decrease
   * by one. Errors as with updateMessage.
   */
  deleteMessage(_sessionId: string, _messageId: string, _options?: RevisionOptions): Promise<void> {
    return this.#lacks("deleting messages");
  }

  /**
   * Overwrites the content of a message, and of all its copies in the namespace, with ERASED_PARTS; ids, places and
   * timestamps stay. A copy has the same id, origin and timestamp. It need not be shown any more, and its session may
   * be deleted; drafts with the id that have ended are emptied. Once this has resolved, no later read returns the
   * old content, and no file of the store holds it. Sessions that show the message get a new revision. Repeating it is
   * safe and continues a call that failed. `not_found`: the session or the message. `permission_denied`: the caller's
   * access is limited, while an erasure reaches the sessions of all.
   */
  eraseMessage(_sessionId: string, _messageId: string, _options?: EraseOptions): Promise<EraseReport> {
    return this.#lacks("erasing messages");
  }

  /**
   * Deletes all sessions of an owner and overwrites everything that they hold with ERASED_PARTS: messages, whether they
   * are shown or not, drafts, and what is left of sessions that were deleted before. Sessions of others that show any
   * of it, because they are forks or shares of these sessions or copied messages from them, show it erased from now on,
   * and get a new revision. Messages that the owner's sessions only share with the session that wrote them stay there.
   * Once this has resolved, no later read returns the old content, and no file of the store holds it. Sessions that the
   * owner gets meanwhile may be left. Repeating it is safe and continues a call that failed. `permission_denied`: the
   * caller's access is limited.
   */
  eraseOwner(_owner: string, _options?: EraseOptions): Promise<OwnerErasure> {
    return this.#lacks("erasing owners");
  }

  /**
   * Follows a history until the call is aborted. `from` is undefined to begin now, a number to begin with the message
   * at that position (past the end: `invalid_argument`), or the `at` of an event to continue after it. Resolves once
   * the beginning is fixed. Events end with `not_found` when the session is deleted, and with `resource_exhausted` when
   * the reader does not keep up.
   */
  followMessages(
    _sessionId: string,
    _from: number | FollowPosition | undefined,
    _call?: Call,
  ): Promise<AsyncIterable<FollowEvent>> {
    return this.#lacks("following messages");
  }

  /**
   * Follows the sessions of the namespace until the call is aborted: those that the filter holds, or held before a
   * change. `from` is undefined to begin now, or the `at` of an event to continue after it; the same filter must be
   * given then. Each change is told at least once, and the last state of each session is always told, whichever process
   * has changed it. Begins with a heartbeat. Resolves once the beginning is fixed. A session that the caller may not
   * see any more is told as deleted. `failed_precondition`: `from` is older than the feed is kept, or belongs to a
   * store that was replaced. `permission_denied`: the caller has a ticket. Events end with `resource_exhausted` when
   * the reader takes nothing while much waits.
   */
  watchSessions(_filter: FeedFilter, _from: string | undefined, _call?: Call): Promise<AsyncIterable<FeedEvent>> {
    return this.#lacks("watching sessions");
  }

  /**
   * Stores an attachment, whole or not at all. A repeated upload with the same id, bytes, name and media type gets the
   * same answer. The call's deadline is that of the whole upload. `already_exists`: the session has, or shows, another
   * attachment with this id. `invalid_argument`: it has more bytes than are allowed, or others than were announced.
   * `resource_exhausted`: the session has no room for it, or too many uploads are under way.
   */
  uploadAttachment(
    _sessionId: string,
    _attachment: NewAttachment,
    _chunks: AsyncIterable<Uint8Array>,
    _call?: Call,
  ): Promise<Attachment> {
    return this.#lacks("attachments");
  }

  /**
   * An attachment and its bytes. `not_found`: no message or draft of the session shows it, and it is not an upload of
   * its own that nothing has named yet. `out_of_range`: the offset is not before the end.
   */
  getAttachment(
    _sessionId: string,
    _attachmentId: string,
    _range: AttachmentRange,
    _call?: Call,
  ): Promise<AttachmentContent> {
    return this.#lacks("attachments");
  }

  /** The attachments that messages and drafts of a session show, by id. */
  listAttachments(
    _sessionId: string,
    _options: { readonly limit: number; readonly cursor?: AttachmentCursor | undefined },
    _call?: Call,
  ): Promise<AttachmentPage> {
    return this.#lacks("attachments");
  }

  /** Removes an attachment that nothing stored names. `failed_precondition`: something does. */
  deleteAttachment(_sessionId: string, _attachmentId: string, _call?: Call): Promise<void> {
    return this.#lacks("attachments");
  }

  /**
   * Adds an annotation to a message that the session shows. A repeated call with the same id and content gets the same
   * answer; another caller's author counts as content. `not_found`: the session shows no such message.
   * `already_exists`: the session has another annotation with this id. `resource_exhausted`: the session, or the
   * message, has too many. Annotations of messages that nothing can show any more are in nobody's way. Forks and shares
   * made later take the annotations along; afterwards each has its own. An erasure of the message erases them.
   */
  createAnnotation(_sessionId: string, _annotation: NewAnnotation, _call?: Call): Promise<Annotation> {
    return this.#lacks("annotations");
  }

  /**
   * The annotations of the messages that the session shows, or of one of them unless `messageId` is empty, the oldest
   * first. A page ends before the limit of bytes, but has at least one. Nothing is skipped or repeated, whatever is
   * added, changed or removed meanwhile. `invalid_argument`: the cursor belongs to another list.
   */
  listAnnotations(
    _sessionId: string,
    _options: { readonly messageId: string; readonly limit: number; readonly cursor?: AnnotationCursor | undefined },
    _call?: Call,
  ): Promise<AnnotationPage> {
    return this.#lacks("annotations");
  }

  /**
   * Changes an annotation of a message that the session shows; that of its forks stays as it is. `not_found`: there is
   * none with this id. `invalid_argument`: it would have neither a thumb nor a text. `permission_denied`: its author
   * would be another one than the owner that the caller is bound to.
   */
  updateAnnotation(
    _sessionId: string,
    _annotationId: string,
    _change: AnnotationChange,
    _call?: Call,
  ): Promise<Annotation> {
    return this.#lacks("annotations");
  }

  /** Removes an annotation of a message that the session shows. `not_found`: there is none with this id. */
  deleteAnnotation(_sessionId: string, _annotationId: string, _call?: Call): Promise<void> {
    return this.#lacks("annotations");
  }

  /** The todo list and its revision. */
  readTodos(_call?: Call): Promise<TodoList> {
    return this.#lacks("reading todos");
  }

  /** Replaces the list if its revision is still `ifRevision`; false when it is not. */
  replaceTodos(_todos: readonly Todo[], _ifRevision: number, _call?: Call): Promise<boolean> {
    return this.#lacks("replacing todos");
  }

  /**
   * For backups: lists the sessions of a store, at most `limit` at a time, in an order that never changes. A session
   * that exists throughout is listed exactly once. `after` is empty at first, then the previous `next`.
   */
  scanSessions(_after: string, _limit: number, _call?: Call): Promise<SessionKeys> {
    return this.#lacks("scanning sessions");
  }

  /** For backups: the state of a session at one moment, with ranges of messages; null when there is no such session. */
  snapshotSession(_sessionId: string, _call?: Call): Promise<SessionSnapshot | null> {
    return this.#lacks("taking snapshots of sessions");
  }

  /**
   * The first messages of a snapshot's range, at least one. `aborted`: they have been cleared away since; take a new
   * snapshot.
   */
  readStored(_snapshot: SessionSnapshot, _range: StoredRange, _call?: Call): Promise<readonly BackupMessage[]> {
    return this.#lacks("reading snapshots of sessions");
  }

  /**
   * An attachment that a message of a snapshot names, by its log, and its bytes. Null when the store has lost it.
   * `aborted`, also while the bytes are read: it has been cleared away since; take a new snapshot.
   */
  readStoredAttachment(_snapshot: SessionSnapshot, _log: string, _call?: Call): Promise<AttachmentContent | null> {
    return this.#lacks("reading attachments of snapshots");
  }

  /**
   * Restores a session of a backup, all at once: nobody sees it before it is whole. The limits of calls do not apply.
   * A fork whose source lived is linked to the living session with the source's id, so restore the source first. Its
   * attachments are stored before the messages that name them. `invalid_argument`: one id occurs twice among its
   * messages, or an attachment has other bytes than its size and SHA-256 say.
   */
  restoreSession(_image: RestoredImage, _read: ReadNumbers, _call?: Call): Promise<RestoreOutcome> {
    return this.#lacks("restoring sessions");
  }

  /**
   * Clears away what nothing names any more. May be stopped at any moment; the next sweep continues. A session whose
   * sweep fails is counted, and the others are swept nevertheless. `unavailable` ends the sweep.
   */
  sweep(_options?: SweepOptions): Promise<SweepReport> {
    return this.#lacks("sweeping");
  }

  /** Resolves when the store answers; rejects with `unavailable`. */
  async ping(_call?: Call): Promise<void> {}

  /**
   * Ends followers and background work, and waits for running writes until the call's deadline at most (5 s without
   * one). Whatever could not be written by then is logged.
   */
  async close(_call?: Call): Promise<void> {}

  async #lacks(operation: string): Promise<never> {
    throw new NotImplementedError(this.constructor.name, operation);
  }
}
