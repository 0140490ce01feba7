import { ownersSeen, type TicketMark } from "../../domain/access.js";
import type { Annotation, AnnotationPage } from "../../domain/annotation.js";
import type { Attachment, AttachmentContent, AttachmentPage } from "../../domain/attachment.js";
import { type Call, closeLimit, endsBy } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import type { ChatMessage, MessageChange, NewChatMessage } from "../../domain/chat-message.js";
import type { Draft, DraftVersion } from "../../domain/draft.js";
import { DomainError } from "../../domain/errors.js";
import type { FeedEvent } from "../../domain/feed.js";
import type {
  DeletedSessionPage,
  FollowEvent,
  FollowPosition,
  LoadedSession,
  MessageCursor,
  MessagePage,
  SessionPage,
} from "../../domain/page.js";
import type { SearchPage } from "../../domain/search.js";
import type { NewSession, Session, SessionChange } from "../../domain/session.js";
import type {
  BackupMessage,
  ReadNumbers,
  RestoredImage,
  RestoreOutcome,
  SessionKeys,
  SessionSnapshot,
  StoredRange,
} from "../../domain/session-image.js";
import { NEWEST_FIRST } from "../../domain/session-order.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type { UsagePage } from "../../domain/usage-groups.js";
import {
  type EraseOptions,
  type EraseReport,
  type ForkOptions,
  type ForkResult,
  type GetMessagesOptions,
  type ListMessagesOptions,
  type LogOptions,
  type LogResult,
  type OwnerErasure,
  type RevisionOptions,
  type SearchOptions,
  StorageProvider,
  type SumOptions,
  type SweepOptions,
  type SweepReport,
  type TruncateOptions,
  type TurnAppend,
  type TurnOutcome,
} from "../storage-provider.js";
import { Annotations } from "./annotations/annotations.js";
import { Appender } from "./append/appender.js";
import { AttachmentNames } from "./attachments/attachment-names.js";
import { AttachmentRemoval } from "./attachments/attachment-removal.js";
import { Attachments } from "./attachments/attachments.js";
import { AbandonedDrafts } from "./drafts/abandoned-drafts.js";
import { DraftFinder } from "./drafts/draft-finder.js";
import { DraftReads } from "./drafts/draft-reads.js";
import { Drafts } from "./drafts/drafts.js";
import { draftsAfterSeal } from "./drafts/sealed-drafts.js";
import { Bin } from "./edit/bin.js";
import { Brancher } from "./edit/brancher.js";
import { Copier } from "./edit/copier.js";
import { Editor } from "./edit/editor.js";
import { MessageEditor } from "./edit/message-editor.js";
import { Eraser } from "./erase/eraser.js";
import { OwnerEraser } from "./erase/owner-eraser.js";
import { FeedReaders } from "./feed/feed-readers.js";
import { Followers } from "./follow/followers.js";
import { type Head, HistoryContext } from "./heads.js";
import type { EngineOptions } from "./history-options.js";
import type { LogStore, SessionRecord } from "./log-store.js";
import { Reader } from "./read/reader.js";
import { Searcher } from "./read/searcher.js";
import { SessionCounter } from "./read/session-counter.js";
import { SessionLister } from "./read/session-lister.js";
import { placeIn } from "./record-queries.js";
import { UsageSummer } from "./sums/usage-summer.js";
import { Sweeper } from "./sweeper.js";
import { Restorer } from "./transfer/restorer.js";
import { Snapshots } from "./transfer/snapshots.js";
import { UpdateTimes } from "./update-times.js";
import { EditorWait } from "./write/editor-wait.js";
import { Inserter } from "./write/inserter.js";
import { RecordReplacer } from "./write/record-replacer.js";
import { RecordWriter } from "./write/record-writer.js";
import { SideLogs } from "./write/side-logs.js";

export type { EngineOptions, HistoryOptions, SeenDrafts } from "./history-options.js";

type Args<K extends keyof StorageProvider> = Parameters<StorageProvider[K]>;

/**
 * Histories over any LogStore. This is the package's only implementation of StorageProvider; docs/history.md explains
 * how it works. The file is long because it lists every operation once, each of which it only passes on.
 */
export class LogHistoryProvider extends StorageProvider {
  readonly #context: HistoryContext;
  readonly #appender: Appender;
  readonly #drafts: Drafts;
  readonly #draftReads: DraftReads;
  readonly #abandonedDrafts: AbandonedDrafts;
  readonly #editor: Editor;
  readonly #bin: Bin;
  readonly #messageEditor: MessageEditor;
  readonly #brancher: Brancher;
  readonly #copier: Copier;
  readonly #eraser: Eraser;
  readonly #ownerEraser: OwnerEraser;
  readonly #reader: Reader;
  readonly #lister: SessionLister;
  readonly #counter: SessionCounter;
  readonly #searcher: Searcher;
  readonly #summer: UsageSummer;
  readonly #sweeper: Sweeper;
  readonly #followers: Followers;
  readonly #feed: FeedReaders;
  readonly #updateTimes: UpdateTimes;
  readonly #snapshots: Snapshots;
  readonly #restorer: Restorer;
  readonly #attachments: Attachments;
  readonly #annotations: Annotations;

  constructor(store: LogStore, options: EngineOptions = {}) {
    super();
    const context = new HistoryContext(store, options);
    const replacer = new RecordReplacer(context);
    const writer = new RecordWriter(context, replacer, (head, added, call) =>
      draftsAfterSeal(context, head, added, call),
    );
    const editorWait = new EditorWait(context, writer);
    const sideLogs = new SideLogs({ context, replacer, writer, editorWait });
    const inserter = new Inserter(context, sideLogs);
    this.#context = context;
    const names = new AttachmentNames(context);
    const removal = new AttachmentRemoval({ context, writer, editorWait });
    this.#attachments = new Attachments(context, removal);
    const finder = new DraftFinder(context);
    this.#draftReads = new DraftReads(context, finder);
    this.#reader = new Reader(context, (head, call) => this.#draftReads.open(head, call));
    this.#lister = new SessionLister(context);
    this.#counter = new SessionCounter(context);
    this.#searcher = new Searcher(context);
    this.#followers = new Followers(context, this.#reader, () => this.#feed.wake());
    this.#feed = new FeedReaders(context, {
      subscribe: () => this.#followers.subscribe(),
      endExpired: () => this.#sweeper.deleteExpired(),
    });
    this.#summer = new UsageSummer(context);
    this.#updateTimes = new UpdateTimes(context);
    this.#appender = new Appender({
      ...{ context, writer, editorWait, inserter, names },
      onAppend: (head, call) => this.#updateTimes.writeOld(head, call),
      onAppended: (head) => {
        this.#updateTimes.note(head);
        this.#followers.wake(head.record.sessionId);
      },
    });
    this.#drafts = new Drafts(context, finder, replacer, this.#appender, ({ record, ref, state }) => {
      this.#updateTimes.note({ record });
      if (state.end === null && state.version > 1) this.#followers.wakeForDraft(record.sessionId, ref.log);
      else this.#followers.wake(record.sessionId);
    });
    this.#abandonedDrafts = new AbandonedDrafts(context, this.#drafts);
    this.#editor = new Editor(context, replacer, writer, editorWait, (record, drafts, call) =>
      this.#drafts.endAll(record, drafts, call),
    );
    this.#bin = new Bin(context, this.#editor);
    this.#messageEditor = new MessageEditor(context, this.#editor, inserter, sideLogs, names);
    this.#brancher = new Brancher(context, this.#editor, inserter);
    this.#copier = new Copier({
      context,
      editor: this.#editor,
      inserter,
      sideLogs,
      attachments: this.#attachments,
      names,
    });
    this.#eraser = new Eraser({
      ...{ context, replacer, removal },
      settleDrafts: (record, messageId, call) => this.#drafts.settle(record, messageId, call),
      onMarked: (sessionId) => this.#followers.wake(sessionId),
      forgetSums: () => this.#summer.forgetAll(),
    });
    this.#ownerEraser = new OwnerEraser({
      ...{ context, replacer, removal },
      deleteSession: (record, call) => this.#deleteIfThere(record, call),
      onMarked: (sessionId) => this.#followers.wake(sessionId),
      forgetSums: () => this.#summer.forgetAll(),
    });
    this.#sweeper = new Sweeper(context, this.#editor, removal);
    this.#snapshots = new Snapshots(context, this.#reader, this.#attachments);
    this.#restorer = new Restorer(context);
    this.#annotations = new Annotations(context, sideLogs);
  }

  override async createSession(session: NewSession, call?: Call): Promise<Session> {
    const sessionId = session.sessionId || this.#context.options.newMessageId();
    const head = await this.#brancher.create({ ...session, sessionId }, call);
    this.#feed.wake();
    return this.#sessionOf(head);
  }

  override getSession(sessionId: string, call?: Call): Promise<Session> {
    return this.#reader.withHead(sessionId, call, (head) => this.#reader.sessionWithUsage(head, call));
  }

  override loadSession(
    sessionId: string,
    options: { limit: number; cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    return this.#reader.load(sessionId, options);
  }

  override async listSessions({
    parentId,
    labels = [],
    owner,
    updatedSinceMicros,
    updatedUntilMicros,
    titleWords,
    order = NEWEST_FIRST,
    withTotal = false,
    view = "basic",
    limit,
    cursor,
    ...call
  }: Parameters<StorageProvider["listSessions"]>[0]): Promise<SessionPage> {
    const seen = ownersSeen(call, owner);
    // Whose children sessions are is not told to those who may not see the parent.
    const hasParent =
      call.access === undefined || parentId === "" || (await this.#context.visibleRecord(parentId, call));
    if (seen === null || !hasParent)
      return { sessions: [], ...(withTotal && { total: { size: 0, isEstimate: false } }) };
    await untilCallEnd(this.#updateTimes.flush(), call);
    const filter = { parentId, labels, owner: seen.owner, updatedSinceMicros, updatedUntilMicros, titleWords };
    const query = { ...filter, order };
    const { records, next } = await this.#lister.unexpired(query, { limit, after: cursor }, call);
    const sessions = await this.#lister.list(records, view, call);
    const last = sessions.length < records.length ? records[sessions.length - 1] : undefined;
    const place = last === undefined ? next : placeIn(last, order);
    return {
      sessions,
      ...(place && { next: { ...query, ...place } }),
      ...(withTotal && { total: await this.#counter.total(filter, call) }),
    };
  }

  override async updateSession(
    sessionId: string,
    change: SessionChange,
    options: { expectedRevision?: number | undefined } & Call = {},
  ): Promise<Session> {
    const head = await this.#editor.update(sessionId, change, options.expectedRevision, options);
    if (change.owner !== undefined) this.#followers.wake(sessionId);
    else this.#feed.wake();
    return this.#sessionOf(head);
  }

  override async getTicketMark(sessionId: string, call?: Call): Promise<TicketMark> {
    const { uid, ticketGeneration = 0 } = await this.#context.needRecord(sessionId, call);
    return { uid, generation: ticketGeneration };
  }

  override async revokeTickets(sessionId: string, call?: Call): Promise<void> {
    await this.#editor.revokeTickets(sessionId, call);
    this.#followers.wake(sessionId);
  }

  override async visibleSessions(sessionIds: Iterable<string>, call?: Call): Promise<ReadonlySet<string>> {
    const ids = [...new Set(sessionIds)];
    const records = await Promise.all(ids.map((id) => this.#context.visibleRecord(id, call)));
    return new Set(ids.filter((_id, i) => records[i] !== null));
  }

  override async deleteSession(sessionId: string, call?: Call): Promise<void> {
    await this.#editor.delete(sessionId, (record) => this.#bin.timesOf(record, call), call);
    this.#followers.wake(sessionId);
  }

  override async undeleteSession(sessionId: string, call?: Call): Promise<Session> {
    const head = await this.#bin.undelete(sessionId, call);
    this.#followers.wake(sessionId);
    return this.#sessionOf(head);
  }

  override async listDeletedSessions({
    owner,
    view = "basic",
    limit,
    cursor,
    ...call
  }: Args<"listDeletedSessions">[0]): Promise<DeletedSessionPage> {
    const seen = ownersSeen(call, owner);
    if (seen === null) return { sessions: [] };
    const records = await this.#bin.list(seen, { limit: limit + 1, after: cursor }, call);
    const sessions = await this.#lister.list(records.slice(0, limit), view, call);
    const last = records[sessions.length - 1];
    if (records.length <= sessions.length || !last?.bin) return { sessions };
    return { sessions, next: { ...seen, deleteTimeMicros: last.bin.deleteTimeMicros, sessionId: last.sessionId } };
  }

  override getSessionMessages(sessionId: string, options: GetMessagesOptions = {}): Promise<readonly ChatMessage[]> {
    return this.#reader.getAll(sessionId, options);
  }

  override listMessages(sessionId: string, options: ListMessagesOptions): Promise<MessagePage> {
    return this.#reader.list(sessionId, options);
  }

  override getMessage(sessionId: string, messageId: string, call?: Call): Promise<ChatMessage | null> {
    return this.#reader.get(sessionId, messageId, call);
  }

  override getMessageCount(sessionId: string, call?: Call): Promise<number> {
    return this.#reader.withHead(sessionId, call, async (head) => head.count);
  }

  override searchMessages(options: SearchOptions): Promise<SearchPage> {
    return this.#searcher.search(options);
  }

  override sumUsage(options: SumOptions): Promise<UsagePage> {
    return this.#summer.sum(options);
  }

  override logMessage(
    { sessionId, ...message }: NewChatMessage & { readonly sessionId: string },
    options?: LogOptions,
  ): Promise<LogResult> {
    return this.logMessages(sessionId, [message], options);
  }

  override async logMessages(
    sessionId: string,
    messages: readonly NewChatMessage[],
    options?: LogOptions,
  ): Promise<LogResult> {
    const [outcome] = await this.#appender.run(sessionId, [{ messages, options }]);
    if (!outcome?.ok) throw outcome?.error;
    return outcome.result;
  }

  override logTurn(sessionId: string, appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    return this.#appender.run(sessionId, appends);
  }

  override startDraft(...args: Args<"startDraft">): Promise<DraftVersion> {
    return this.#drafts.start(...args);
  }

  override extendDraft(...args: Args<"extendDraft">): Promise<number> {
    return this.#drafts.extend(...args);
  }

  override finishDraft(...args: Args<"finishDraft">): Promise<LogResult> {
    return this.#drafts.finish(...args);
  }

  override discardDraft(...args: Args<"discardDraft">): Promise<void> {
    return this.#drafts.discard(...args);
  }

  override listDrafts(sessionId: string, call?: Call): Promise<readonly Draft[]> {
    return this.#reader.withHead(sessionId, call, (head) => this.#draftReads.open(head, call));
  }

  override endAbandonedDrafts(call?: Call): Promise<number> {
    return this.#abandonedDrafts.end(call);
  }

  override async forkConversation(
    sourceSessionId: string,
    newSessionId: string,
    options: ForkOptions,
  ): Promise<ForkResult> {
    const { as, ...rest } = options;
    if (as === "copy") {
      const copied = await this.#copier.copy(sourceSessionId, newSessionId, rest);
      this.#followers.wake(newSessionId);
      return copied;
    }
    const head = await this.#brancher.fork(sourceSessionId, newSessionId, as, options, options);
    this.#feed.wake();
    const { forkPointId, inheritedCount } = head.record;
    return { forkPointId: forkPointId || null, copiedCount: inheritedCount, session: this.#sessionOf(head) };
  }

  override async truncateMessages(
    sessionId: string,
    upToMessageId: string | null,
    options: TruncateOptions = {},
  ): Promise<number> {
    const removed = await this.#editor.truncate(sessionId, upToMessageId, options);
    this.#followers.wake(sessionId);
    return removed;
  }

  override async restoreMessages(sessionId: string, call?: Call): Promise<number> {
    const restored = await this.#editor.restore(sessionId, call);
    this.#followers.wake(sessionId);
    return restored;
  }

  override async updateMessage(
    sessionId: string,
    messageId: string,
    change: MessageChange,
    options: RevisionOptions = {},
  ): Promise<ChatMessage> {
    const message = await this.#messageEditor.update(sessionId, messageId, change, options);
    this.#followers.wake(sessionId);
    return message;
  }

  override async deleteMessage(sessionId: string, messageId: string, options: RevisionOptions = {}): Promise<void> {
    await this.#messageEditor.delete(sessionId, messageId, options);
    this.#followers.wake(sessionId);
  }

  override eraseMessage(sessionId: string, messageId: string, options?: EraseOptions): Promise<EraseReport> {
    return this.#eraser.run(sessionId, messageId, options);
  }

  override eraseOwner(owner: string, options?: EraseOptions): Promise<OwnerErasure> {
    return this.#ownerEraser.run(owner, options);
  }

  override uploadAttachment(...args: Args<"uploadAttachment">): Promise<Attachment> {
    return this.#attachments.upload(...args);
  }

  override getAttachment(...args: Args<"getAttachment">): Promise<AttachmentContent> {
    return this.#attachments.get(...args);
  }

  override listAttachments(...args: Args<"listAttachments">): Promise<AttachmentPage> {
    return this.#attachments.list(...args);
  }

  override deleteAttachment(...args: Args<"deleteAttachment">): Promise<void> {
    return this.#attachments.delete(...args);
  }

  override createAnnotation(...args: Args<"createAnnotation">): Promise<Annotation> {
    return this.#annotations.create(...args);
  }

  override listAnnotations(...args: Args<"listAnnotations">): Promise<AnnotationPage> {
    return this.#annotations.list(...args);
  }

  override updateAnnotation(...args: Args<"updateAnnotation">): Promise<Annotation> {
    return this.#annotations.update(...args);
  }

  override deleteAnnotation(...args: Args<"deleteAnnotation">): Promise<void> {
    return this.#annotations.delete(...args);
  }

  override followMessages(
    sessionId: string,
    from: number | FollowPosition | undefined,
    call?: Call,
  ): Promise<AsyncIterable<FollowEvent>> {
    return this.#followers.follow(sessionId, from, call);
  }

  override watchSessions(...args: Args<"watchSessions">): Promise<AsyncIterable<FeedEvent>> {
    return this.#feed.watch(...args);
  }

  override readTodos(call?: Call): Promise<TodoList> {
    return this.#context.store.readTodos(call);
  }

  override replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    return this.#context.store.replaceTodos(todos, ifRevision, call);
  }

  override scanSessions(after: string, limit: number, call?: Call): Promise<SessionKeys> {
    return this.#snapshots.scan(after, limit, call);
  }

  override snapshotSession(sessionId: string, call?: Call): Promise<SessionSnapshot | null> {
    return this.#snapshots.snapshot(sessionId, call);
  }

  override readStored(snapshot: SessionSnapshot, range: StoredRange, call?: Call): Promise<readonly BackupMessage[]> {
    return this.#snapshots.read(snapshot, range, call);
  }

  override readStoredAttachment(...args: Args<"readStoredAttachment">): Promise<AttachmentContent | null> {
    return this.#snapshots.attachment(...args);
  }

  override restoreSession(image: RestoredImage, read: ReadNumbers, call?: Call): Promise<RestoreOutcome> {
    return this.#restorer.restore(image, read, call);
  }

  override sweep(options?: SweepOptions): Promise<SweepReport> {
    return this.#sweeper.run(options);
  }

  override ping(call?: Call): Promise<void> {
    return this.#context.store.ping(call);
  }

  override async close(call?: Call): Promise<void> {
    const limit = closeLimit(call);
    this.#summer.close();
    const { counts, measuring } = this.#context;
    const measured = endsBy(limit.deadlineMs, measuring.close());
    this.#feed.close();
    await Promise.all([this.#followers.close(limit), this.#updateTimes.close(limit), measured]);
    await counts.close(limit);
    await endsBy(limit.deadlineMs, this.#context.store.close());
  }

  /** Deletes a session, also one that has expired, if it is there and the caller may see it. */
  async #deleteIfThere(record: SessionRecord, call: Call): Promise<void> {
    const { sessionId } = record;
    if (this.#context.isExpired(record)) return void (await this.#editor.deleteExpired(sessionId, call));
    try {
      await this.deleteSession(sessionId, call);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
    }
  }

  #sessionOf(head: Head): Session {
    return this.#reader.sessionOf(head);
  }
}
