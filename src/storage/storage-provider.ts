import type { Call } from "../domain/call.js";
import type { ChatMessage, MessageChange, NewChatMessage } from "../domain/chat-message.js";
import type { Draft, DraftDelta, DraftVersion } from "../domain/draft.js";
import { NotImplementedError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type {
  FollowEvent,
  FollowPosition,
  LoadedSession,
  MessageCursor,
  MessagePage,
  MessageQuery,
  SessionCursor,
  SessionPage,
} from "../domain/page.js";
import type { NewSession, Session, SessionChange, SessionView } from "../domain/session.js";
import type {
  ReadNumbers,
  RestoredImage,
  RestoreOutcome,
  SessionKeys,
  SessionSnapshot,
  StoredMessage,
  StoredRange,
} from "../domain/session-image.js";
import type { Todo, TodoList } from "../domain/todo.js";

export interface GetMessagesOptions extends Call {
  /** Puts the messages of the parent chain in front. */
  readonly includeAncestors?: boolean | undefined;
  /** Most messages to return; no limit when absent. Without `offset` the last ones. */
  readonly limit?: number | undefined;
  /** Messages to skip, counted from the oldest; with it, 0 too, `limit` counts from there. */
  readonly offset?: number | undefined;
}

export interface ListMessagesOptions extends Call, MessageQuery {
  /** Most messages of the page; the page also ends at the limit of bytes, but holds one message at least. */
  readonly limit: number;
  /** Messages of the query to skip. Excludes `cursor`. */
  readonly offset?: number | undefined;
  /** Continue after this place. */
  readonly cursor?: MessageCursor | undefined;
}

export interface LogOptions extends Call {
  /** Append only if the (first) message gets this position. */
  readonly expectedPosition?: number | undefined;
}

export interface StartDraftOptions extends Call {
  /** Discard the draft, instead of finishing it, when nobody extends it any more. */
  readonly discardWhenAbandoned?: boolean | undefined;
}

export interface FinishDraftOptions extends Call {
  /** The version that this follows. */
  readonly version: number;
  /** What is added last. */
  readonly deltas?: readonly DraftDelta[] | undefined;
  /** Fields to put into the message's metadata. */
  readonly metadata?: JsonObject | undefined;
  /** Finish only if the message gets this position. */
  readonly expectedPosition?: number | undefined;
}

export interface LogResult {
  readonly messageIds: readonly string[];
  /** Place of the first message now. */
  readonly position: number;
}

/** A message that says which session it goes to. */
export interface LoggedMessage extends NewChatMessage {
  readonly sessionId: string;
}

/** One of several appends to the same session that a turn stores in one write. Each is all or nothing by itself. */
export interface TurnAppend {
  readonly messages: readonly NewChatMessage[];
  readonly options?: LogOptions | undefined;
}

export type TurnOutcome =
  | { readonly ok: true; readonly result: LogResult }
  | { readonly ok: false; readonly error: unknown };

export interface ForkOptions extends Call {
  /**
   * `fork`, `share`: make the target; a retry (same source, kind and `upToMessageId`) answers what the first call made.
   * `copy`: merge into the target, which must exist.
   */
  readonly as: "fork" | "share" | "copy";
  /** Last message to take; all when absent. */
  readonly upToMessageId?: string | undefined;
  /** Of a fork: the new session's title; the source's when absent. */
  readonly title?: string | undefined;
  /** Of a copy: copy only if the target's revision is this. */
  readonly expectedRevision?: number | undefined;
}

export interface ForkResult {
  /** Last message taken; null when none was. */
  readonly forkPointId: string | null;
  readonly copiedCount: number;
  /** The target. Absent for `copy`. */
  readonly session?: Session | undefined;
}

export interface TruncateOptions extends Call {
  /** Keep what is removed, for `restoreMessages`: a revert. */
  readonly keepForUnrevert?: boolean | undefined;
  /** Remove only if the session's revision is this. */
  readonly expectedRevision?: number | undefined;
}

export interface RevisionOptions extends Call {
  /** Edit only if the session's revision is this. */
  readonly expectedRevision?: number | undefined;
}

export interface SweepOptions extends Call {
  /** Also recount forks and delete entries that no record owns. Only while no server runs. */
  readonly repair?: boolean | undefined;
  /** Told after every chunk. */
  readonly onProgress?: ((report: SweepReport) => void) | undefined;
}

export interface EraseOptions extends Call {
  /** Told after every chunk. */
  readonly onProgress?: ((progress: EraseProgress) => void) | undefined;
}

export interface EraseProgress {
  /** How often the sessions are looked through: until one round finds nothing to do, at least twice. */
  readonly round: number;
  /** Sessions looked through in this round, deleted ones that are not swept yet included. */
  readonly sessions: number;
  /** Copies found so far. */
  readonly copies: number;
}

export interface EraseReport {
  /** Places in the store at which the message stood. An earlier call may have erased some of them. */
  readonly copies: number;
}

export interface SweepReport {
  /** Deleted sessions cleared away. */
  readonly sessions: number;
  /** Ranges cleared away that edits had cut off, and logs of drafts that have ended. */
  readonly ranges: number;
  /** Repair: fork counts put right, and owners without a record cleared away. */
  readonly repairedForks: number;
  readonly orphans: number;
}

/**
 * Persistence of sessions, histories and todos: what StorageManager forwards to.
 *
 * Every operation here raises NotImplementedError with the class's name, so that a provider may implement as few as it likes;
 * SessionPool computes what reads can give from `getSessionMessages`. All operations reject with DomainError: `not_found` for an unknown
 * session (the spec's KeyError), `unavailable`, `deadline_exceeded`, `canceled`.
 */
export abstract class StorageProvider {
  /** Makes a session. A retry with what the session holds now answers it. `already_exists`: the id is taken. `not_found`: no such parent. */
  createSession(_session: NewSession, _call?: Call): Promise<Session> {
    return this.#lacks("creating sessions");
  }

  /** The session with its exact count and update time. */
  getSession(_sessionId: string, _call?: Call): Promise<Session> {
    return this.#lacks("reading sessions");
  }

  /** The session and its last `limit` messages, oldest first, of one moment. With a cursor the `limit` messages before it. */
  loadSession(
    _sessionId: string,
    _options: { limit: number; cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    return this.#lacks("loading sessions");
  }

  /**
   * Sessions, most recently updated first; children of `parentId` only, unless it is empty, and only those that have all of `labels`. Each label is written
   * `key=value`. One label costs no more than none; with several, or with a parent too, the list goes along the sessions of the first label.
   * `full` adds `messageCount` and `lastMessage`; each session's are of one moment, not before the call.
   */
  listSessions(
    _options: {
      parentId: string;
      labels?: readonly string[] | undefined;
      view?: SessionView | undefined;
      limit: number;
      cursor?: SessionCursor | undefined;
    } & Call,
  ): Promise<SessionPage> {
    return this.#lacks("listing sessions");
  }

  /** Changes title, metadata and labels, and no message. `aborted`: `expectedRevision` is not the session's revision; the text names that. */
  updateSession(
    _sessionId: string,
    _change: SessionChange,
    _options?: { expectedRevision?: number | undefined } & Call,
  ): Promise<Session> {
    return this.#lacks("updating sessions");
  }

  /** Deletes a session and its history. Forks of it keep theirs. */
  deleteSession(_sessionId: string, _call?: Call): Promise<void> {
    return this.#lacks("deleting sessions");
  }

  /** Messages, ordered by timestamp, oldest first. */
  getSessionMessages(_sessionId: string, _options?: GetMessagesOptions): Promise<readonly ChatMessage[]> {
    return this.#lacks("reading messages");
  }

  /** One page. A cursor of another session or query is `invalid_argument`; `failed_precondition`: its message is no longer in the history. */
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
   * SessionPool's append: stores messages at the end, or where their timestamps belong; all or nothing, durable when resolved.
   * Ids the session has with the same content are skipped. `already_exists`: with other content. `aborted`: `expectedPosition` is not the place
   * the first would get, unless that one is known. `invalid_argument`: one id twice, or a timestamp too far ahead.
   */
  logMessages(_sessionId: string, _messages: readonly NewChatMessage[], _options?: LogOptions): Promise<LogResult> {
    return this.#lacks("appending messages");
  }

  /** The same for one message that names its session: all that the spec's providers know of appending. SessionPool asks for it when logMessages is lacking. */
  logMessage(_message: LoggedMessage, _options?: LogOptions): Promise<LogResult> {
    return this.#lacks("appending single messages");
  }

  /**
   * Several callers' appends to one session, stored in their order, in one write where that is possible. One outcome for each, in the same order: an append
   * that is refused, or whose own call has ended, leaves the others alone. Rejects only with NotImplementedError.
   */
  logTurn(_sessionId: string, _appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    return this.#lacks("appending turns");
  }

  /**
   * Begins a draft: a message that is being written, and no part of the history. Its id, made when absent, is reserved. A retry with the same content answers
   * the same. `already_exists`: the history has the id, or a draft with other content has it. `failed_precondition`: a draft with the id has ended lately.
   * `resource_exhausted`: the session has too many open drafts.
   */
  startDraft(_sessionId: string, _message: NewChatMessage, _options?: StartDraftOptions): Promise<DraftVersion> {
    return this.#lacks("drafts");
  }

  /**
   * Adds to a draft after `version`, durable when resolved; resolves to the new version. A retry with the same content answers the same. `aborted`: another version
   * is the current one; the text names it. `failed_precondition`: it was finished or discarded. `not_found`: no such draft. `invalid_argument`: the message
   * would be over a limit.
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
   * Ends a draft and appends what it holds, exactly once. A retry with the same content answers the message's place now. `aborted`, `not_found` and `invalid_argument`
   * as with extendDraft; `aborted` also: the message would not get `expectedPosition`. `failed_precondition`: it was discarded, or finished with other content.
   * `already_exists`: a message of the history has its id.
   */
  finishDraft(_sessionId: string, _messageId: string, _options: FinishDraftOptions): Promise<LogResult> {
    return this.#lacks("drafts");
  }

  /** Ends a draft and drops what it holds. One that was discarded before, or is not there, is answered alike. `failed_precondition`: it was finished. */
  discardDraft(_sessionId: string, _messageId: string, _call?: Call): Promise<void> {
    return this.#lacks("drafts");
  }

  /** The open drafts as they are now, in the order in which they were started. */
  listDrafts(_sessionId: string, _call?: Call): Promise<readonly Draft[]> {
    return this.#lacks("drafts");
  }

  /**
   * Ends the drafts of all sessions that nobody has extended for the time that the provider is configured with, and carries out what was decided by writers that
   * have died; resolves to how many it ended. To be called again and again: a draft is abandoned when this process has seen it unchanged for that time, whatever any
   * clock says. Any number of processes may do so at once.
   */
  endAbandonedDrafts(_call?: Call): Promise<number> {
    return this.#lacks("drafts");
  }

  /**
   * SessionPool's copyMessages, fork and share. `not_found`: no such source, or (`copy`) target. `already_exists`: (`fork`, `share`) the
   * target's id is taken. `invalid_argument`: `upToMessageId` is not in the source, or a copy onto itself. `aborted`: `expectedRevision` is not
   * the target's revision. All or nothing.
   */
  forkConversation(_sourceSessionId: string, _newSessionId: string, _options: ForkOptions): Promise<ForkResult> {
    return this.#lacks("forking conversations");
  }

  /**
   * Keeps `upToMessageId` and everything before it, or no message at all when it is null; resolves to how many were removed. All or nothing.
   * `invalid_argument`: unknown message. `aborted`: `expectedRevision` is not the session's revision, even if nothing would be removed; the text names that.
   */
  truncateMessages(_sessionId: string, _upToMessageId: string | null, _options?: TruncateOptions): Promise<number> {
    return this.#lacks("truncating messages");
  }

  /** Brings back what truncates with `keepForUnrevert` removed since the last other edit or append; resolves to how many. `failed_precondition`: nothing to bring back. */
  restoreMessages(_sessionId: string, _call?: Call): Promise<number> {
    return this.#lacks("restoring messages");
  }

  /**
   * Gives one message new content, at the same place and time, and answers it as it is then; forks made before keep what they have. All or nothing.
   * When the message has that content already, nothing changes. `not_found`: no such message, whatever `expectedRevision` says. `aborted`:
   * `expectedRevision` is not the session's revision; the text names that. `invalid_argument`: the message would be over its limit, or
   * `timestampMicros` is not its time.
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
   * Removes one message from this session for good; forks made before keep it, and the positions after it go down by one. Errors are as with
   * updateMessage.
   */
  deleteMessage(_sessionId: string, _messageId: string, _options?: RevisionOptions): Promise<void> {
    return this.#lacks("deleting messages");
  }

  /**
   * Overwrites the content of a message, and of all its copies in the namespace, with ERASED_PARTS; ids, places and timestamps stay. A copy has the same id,
   * origin and timestamp. When it has resolved, no later read answers the old content, and no file of the store holds it. Sessions that show the message get
   * another revision. Repeating it is safe, and goes on where one that failed has stopped. `not_found`: the session or the message.
   */
  eraseMessage(_sessionId: string, _messageId: string, _options?: EraseOptions): Promise<EraseReport> {
    return this.#lacks("erasing messages");
  }

  /**
   * Follows a history until the call is aborted. `from`: undefined for what comes from now on, a number for a position (past the end: `invalid_argument`),
   * or where an earlier follower stood. Resolves when "now" is decided. Events end with `not_found` when the session is deleted, and with
   * `resource_exhausted` when the reader does not keep up.
   */
  followMessages(
    _sessionId: string,
    _from: number | FollowPosition | undefined,
    _call?: Call,
  ): Promise<AsyncIterable<FollowEvent>> {
    return this.#lacks("following messages");
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
   * For backups: the sessions of a store, at most `limit` at a time, in an order that nothing changes. A session that is there all the time is named exactly
   * once. `after` is empty at first, then `next`.
   */
  scanSessions(_after: string, _limit: number, _call?: Call): Promise<SessionKeys> {
    return this.#lacks("scanning sessions");
  }

  /** For backups: a session as it is at one moment, with ranges of messages; null when there is none. */
  snapshotSession(_sessionId: string, _call?: Call): Promise<SessionSnapshot | null> {
    return this.#lacks("taking snapshots of sessions");
  }

  /** The first messages of a snapshot's range: one at least. `aborted`: they have been cleared away since; take a new snapshot. */
  readStored(_snapshot: SessionSnapshot, _range: StoredRange, _call?: Call): Promise<readonly StoredMessage[]> {
    return this.#lacks("reading snapshots of sessions");
  }

  /**
   * Puts a session of a backup back, all at once: until it is whole nobody sees it. The limits of calls do not apply. `invalid_argument`: one id is twice among
   * its messages.
   */
  restoreSession(_image: RestoredImage, _read: ReadNumbers, _call?: Call): Promise<RestoreOutcome> {
    return this.#lacks("restoring sessions");
  }

  /** Clears away what nothing names any more. May be stopped at any moment; the next one goes on. */
  sweep(_options?: SweepOptions): Promise<SweepReport> {
    return this.#lacks("sweeping");
  }

  /** Resolves when the store answers; rejects with `unavailable`. */
  async ping(_call?: Call): Promise<void> {}

  /**
   * Ends followers and background work; waits for what is being written, at most until the call's deadline, 5 s when it has none. What could not be
   * written by then is logged.
   */
  async close(_call?: Call): Promise<void> {}

  async #lacks(operation: string): Promise<never> {
    throw new NotImplementedError(this.constructor.name, operation);
  }
}
