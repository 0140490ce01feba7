import { checkOwnerChange } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import { DomainError, invalidArgument, notAsExpected, notFound } from "../../../domain/errors.js";
import { sameStruct } from "../../../domain/json.js";
import { inOrder } from "../../../domain/labels.js";
import type { SessionChange } from "../../../domain/session.js";
import type { StorageProvider, TruncateOptions } from "../../storage-provider.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { BinTimes, DraftRef, NextRecord, SessionRecord } from "../log-store.js";
import { type Located, locateOnHead } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { Again, isDefinite } from "../retries.js";
import { sliceSegments, totalLength } from "../segments.js";
import { undoAt, undoOfRevert } from "../undo.js";
import type { EditorWait } from "../write/editor-wait.js";
import { nextOf, type RecordReplacer } from "../write/record-replacer.js";
import type { HistoryChange, RecordWriter } from "../write/record-writer.js";

/** The result of an edit on a head, and the change that it requires, if any. */
export interface EditPlan<T> {
  readonly result: T;
  readonly change?: HistoryChange | undefined;
  /** Whether planning has committed the edit already. */
  readonly isCommitted?: boolean | undefined;
}

/** Discards drafts of a record. Those that are finished by then are appended, unless the session has expired. */
export type EndDrafts = (record: SessionRecord, drafts: readonly DraftRef[], call?: Call) => Promise<void>;

/**
 * Edits of one session. Each one seals the log, plans on the sealed state and replaces the record, and starts over when
 * somebody else was first.
 */
export class Editor {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;
  readonly #writer: RecordWriter;
  readonly #editorWait: EditorWait;
  readonly #endDrafts: EndDrafts;

  constructor(
    context: HistoryContext,
    replacer: RecordReplacer,
    writer: RecordWriter,
    editorWait: EditorWait,
    endDrafts: EndDrafts,
  ) {
    this.#context = context;
    this.#replacer = replacer;
    this.#writer = writer;
    this.#editorWait = editorWait;
    this.#endDrafts = endDrafts;
  }

  /** Implements {@link StorageProvider.truncateMessages}. */
  truncate(sessionId: string, upToMessageId: string | null, options: TruncateOptions): Promise<number> {
    let begun: readonly DraftRef[] | null = null;
    return this.edit(sessionId, options, async (head) => {
      checkRevision(head.record, options.expectedRevision);
      const last = upToMessageId === null ? null : await this.#mustLocate(head, upToMessageId, options);
      const kept = last === null ? 0 : last.position + 1;
      const removed = head.count - kept;
      checkRemoved(removed, options.expectedRemovedCount);
      begun ??= openDrafts(head.record);
      await this.#endOpen(head.record, begun, options);
      if (removed === 0) return { result: 0 };
      const segments = sliceSegments(visibleSegments(head), 0, kept);
      const lastTimestampMicros = last?.entry.timestampMicros ?? null;
      const undo = options.keepForUnrevert ? undoOfRevert(head) : null;
      return { result: removed, change: { segments, lastTimestampMicros, undo, kept } };
    });
  }

  /** Implements {@link StorageProvider.restoreMessages}. */
  restore(sessionId: string, call?: Call): Promise<number> {
    return this.edit(sessionId, call, async (head) => {
      const undo = undoAt(head.record, head.seq);
      if (!undo) {
        throw new DomainError("failed_precondition", `Session ${JSON.stringify(sessionId)} has nothing to unrevert`);
      }
      const change = { ...undo, undo: null, kept: head.count };
      return { result: totalLength(undo.segments) - head.count, change };
    });
  }

  /** Implements {@link StorageProvider.deleteSession}. `bin` gives the times of a session that can be brought back. */
  delete(sessionId: string, bin: (record: SessionRecord) => Promise<BinTimes | undefined>, call?: Call): Promise<void> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.settledHead(sessionId, call);
      saw(head);
      await this.#endOpen(head.record, openDrafts(head.record), call);
      if (!(await this.#writer.commitDeletion(head, await bin(head.record), call))) throw new Again();
    });
  }

  /** Deletes the session if it has expired. Resolves to whether it had. */
  deleteExpired(sessionId: string, call?: Call): Promise<boolean> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.loadLiving(sessionId, call);
      if (!head) return false;
      if (!this.#context.isExpired(head.record)) {
        await this.reopen(head, call);
        return false;
      }
      saw(head);
      if (!(await this.#isOver(head, call))) throw new Again();
      const open = openDrafts(head.record);
      if (open.length > 0) {
        await this.#fixExpiry(head, call);
        await this.#endDrafts(head.record, open, call);
      }
      if (!(await this.#writer.commitDeletion(head, undefined, call))) throw new Again();
      return true;
    });
  }

  /**
   * Reads the record of an expired session again, and resolves to whether it is still expired. An append may have come
   * between reading the record and the end of its log, and the retention begins anew with it. When one comes later, the
   * deletion notices that at its seal and starts over.
   */
  async #isOver(head: Head, call?: Call): Promise<boolean> {
    const now = await this.#context.store.readRecordByUid(head.record.uid, call);
    return now !== null && this.#context.isExpired(now);
  }

  /**
   * Gives a session whose retention is over an expiry of its own, and throws `Again`. To discard a draft is a write,
   * from which the retention would begin anew. Does nothing when the session's own expiry comes first.
   */
  async #fixExpiry(head: Head, call?: Call): Promise<void> {
    const { expireTimeMicros = Number.POSITIVE_INFINITY } = head.record;
    const endMicros = this.#context.retentionEndMicros(head.record);
    if (expireTimeMicros <= endMicros) return;
    await this.#commitFields(head, { expireTimeMicros: endMicros }, call);
    throw new Again();
  }

  /**
   * Implements {@link StorageProvider.updateSession}. No message changes, so nothing is sealed unless the time of
   * expiry or the owner changes.
   */
  update(sessionId: string, change: SessionChange, expectedRevision: number | undefined, call?: Call): Promise<Head> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const mayReopen = change.expireTimeMicros !== undefined || change.owner !== undefined;
      const head = await (mayReopen ? this.settledHead(sessionId, call) : this.#context.need(sessionId, call));
      saw(head);
      const { record } = head;
      checkOwnerChange(call, change.owner);
      checkRevision(record, expectedRevision);
      const title = change.title ?? record.title;
      const metadata = change.metadata ?? record.metadata;
      const labels = inOrder(change.labels ?? record.labels);
      const { expireTimeMicros = record.expireTimeMicros, owner = record.owner ?? "" } = change;
      const isSameExpiry = (expireTimeMicros ?? undefined) === record.expireTimeMicros;
      const isSameOwner = owner === (record.owner ?? "");
      const isSame =
        title === record.title && sameStruct(metadata, record.metadata) && sameStruct(labels, record.labels);
      if (isSame && isSameExpiry && isSameOwner) return head;
      const fields = {
        ...{ title, metadata, labels, expireTimeMicros: expireTimeMicros ?? undefined },
        // Rule: owner-change-ends-access.
        ...(!isSameOwner && { owner: owner || undefined, ticketGeneration: (record.ticketGeneration ?? 0) + 1 }),
        updateTimeMicros: Math.max(record.updateTimeMicros, this.#context.options.nowMicros()),
        sessionRevision: record.sessionRevision + 1,
      };
      // Rule: owner-change-ends-access. Processes that have cached the head go on appending to its log.
      const updated =
        isSameExpiry && isSameOwner
          ? await this.#replace(head, fields, call)
          : await this.#commitFields(head, fields, call);
      if (!updated) throw new Again();
      // Rule: owner-change-ends-access. A process that has cached a draft looks only at the draft's log, and would go
      // on extending it. The drafts end afterwards, because nobody can start others then.
      if (!isSameOwner || this.#context.isExpired(updated.record)) {
        await this.#endDrafts(updated.record, openDrafts(updated.record), call);
      }
      return updated;
    });
  }

  /**
   * Implements {@link StorageProvider.revokeTickets}. Nothing is sealed, because calls with a ticket never rely on a
   * cached head.
   */
  revokeTickets(sessionId: string, call?: Call): Promise<void> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.need(sessionId, call);
      saw(head);
      const ticketGeneration = (head.record.ticketGeneration ?? 0) + 1;
      if (!(await this.#replace(head, { ticketGeneration }, call))) throw new Again();
    });
  }

  async #replace(head: Head, fields: Partial<NextRecord>, call?: Call): Promise<Head | null> {
    const stored = await this.#replacer.replace(head.record, { ...nextOf(head.record), ...fields }, call);
    return stored && { ...head, record: stored };
  }

  /**
   * Replaces the record together with its open log, so that no process appends on a head that does not know the change.
   */
  #commitFields(head: Head, fields: Partial<NextRecord>, call?: Call): Promise<Head | null> {
    const { lastTimestampMicros } = head;
    const undo = undoAt(head.record, head.seq);
    const change = { segments: visibleSegments(head), lastTimestampMicros, undo, kept: null, fields };
    return this.#writer.commit(head, change, call);
  }

  /**
   * Runs an edit until it is stored or turns out to change nothing. Neither a result nor an error for the caller is
   * ever based on an old head.
   */
  edit<T>(sessionId: string, call: Call | undefined, plan: (head: Head) => Promise<EditPlan<T>>): Promise<T> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.settledHead(sessionId, call);
      saw(head);
      try {
        const { result, change, isCommitted } = await plan(head);
        if (isCommitted) return result;
        if (!change && !this.#isOld(head)) {
          await this.reopen(head, call);
          return result;
        }
        if (change && (await this.#writer.commit(head, change, call))) return result;
      } catch (error) {
        const isForCaller = error instanceof DomainError && isDefinite(error);
        if (isForCaller && !this.#isOld(head)) {
          await this.#context.checkCurrent(head.record, call);
          await this.reopen(head, call);
          throw error;
        }
        if (!isForCaller) throw error;
      }
      throw new Again();
    });
  }

  /** Reads a head whose log nobody else is closing. not_found: there is no such session. */
  async settledHead(sessionId: string, call?: Call): Promise<Head> {
    const head = await this.#editorWait.settledHead(sessionId, call);
    if (!head) throw notFound("Session", sessionId);
    return head;
  }

  /** Opens a fresh log if our own edit has sealed the log and then turned out to change nothing. */
  async reopen(head: Head, call?: Call): Promise<void> {
    if (this.#writer.sealedHere(head)) await this.#writer.rollOver(head, call);
  }

  /**
   * Discards those of the given drafts that are still open. If there were any, throws `Again`, because the history must
   * be read again.
   */
  async #endOpen(record: SessionRecord, drafts: readonly DraftRef[], call?: Call): Promise<void> {
    const logs = drafts.map(({ log }) => log);
    const left = openDrafts(record).filter(({ log }) => logs.includes(log));
    if (left.length === 0) return;
    await this.#endDrafts(record, left, call);
    throw new Again("Drafts of the session were open");
  }

  async #mustLocate(head: Head, messageId: string, call?: Call): Promise<Located> {
    const located = (await locateOnHead(this.#context, head, [messageId], call)).get(messageId);
    if (!located) throw noMessage(messageId, head.record.sessionId);
    return located;
  }

  #isOld(head: Head): boolean {
    return this.#context.isOld(head.atMs);
  }
}

/** Whether a record has the revision that the caller expects, if any. */
export function hasRevision({ sessionRevision }: SessionRecord, expectedRevision: number | undefined): boolean {
  return expectedRevision === undefined || expectedRevision === sessionRevision;
}

/** Throws `aborted` unless the record has the revision that the caller expects, if any. */
export function checkRevision(record: SessionRecord, expectedRevision: number | undefined): void {
  const { sessionRevision } = record;
  if (hasRevision(record, expectedRevision)) return;
  const text = `expected_revision is ${expectedRevision}, but the session's revision is ${sessionRevision}`;
  throw notAsExpected(text, "revision", sessionRevision);
}

/** Throws `aborted` unless as many messages would be removed as the caller expects, if it does. */
function checkRemoved(removed: number, expected: number | undefined): void {
  if (expected === undefined || expected === removed) return;
  const text = `expected_removed_count is ${expected}, but ${removed} messages would be removed`;
  throw notAsExpected(text, "removed_count", removed);
}

/** The spec's ValueError: `up_to_message_id` is not in the session. */
export function noMessage(messageId: string, sessionId: string): DomainError {
  return invalidArgument(
    `up_to_message_id ${JSON.stringify(messageId)} is not in session ${JSON.stringify(sessionId)}`,
  );
}
