import type { Call } from "../../domain/call.js";
import { DomainError, invalidArgument } from "../../domain/errors.js";
import { sameStruct } from "../../domain/json.js";
import type { SessionChange } from "../../domain/session.js";
import { Again, type Head, type HistoryContext, visibleSegments } from "./heads.js";
import { type Located, locateOnHead } from "./lookup.js";
import { type HistoryChange, nextOf, type RecordWriter } from "./record-writer.js";
import { sliceSegments, totalLength } from "./segments.js";

/** What an edit comes to on a head: an answer, and the change that makes it true, if any. */
interface EditPlan<T> {
  readonly result: T;
  readonly change?: HistoryChange | undefined;
}

/** Edits of one session: seal, plan on the sealed log, replace the record; from the start whenever somebody was first. */
export class Editor {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;

  constructor(context: HistoryContext, writer: RecordWriter) {
    this.#context = context;
    this.#writer = writer;
  }

  /** See StorageProvider.truncateMessages. */
  truncate(sessionId: string, upToMessageId: string, keepForUnrevert: boolean, call?: Call): Promise<number> {
    return this.edit(sessionId, call, async (head) => {
      const last = await this.#mustLocate(head, upToMessageId, call);
      const kept = last.position + 1;
      const removed = head.count - kept;
      if (removed === 0) return { result: 0 };
      const segments = sliceSegments(visibleSegments(head), 0, kept);
      const before = { segments: visibleSegments(head), lastTimestampMicros: head.lastTimestampMicros };
      const undo = keepForUnrevert ? (this.#undoOf(head) ?? before) : null;
      return { result: removed, change: { segments, lastTimestampMicros: last.entry.timestampMicros, undo, kept } };
    });
  }

  /** See StorageProvider.restoreMessages. */
  restore(sessionId: string, call?: Call): Promise<number> {
    return this.edit(sessionId, call, async (head) => {
      const undo = this.#undoOf(head);
      if (!undo) {
        throw new DomainError("failed_precondition", `Session ${JSON.stringify(sessionId)} has nothing to unrevert`);
      }
      const change = { ...undo, undo: null, kept: head.count };
      return { result: totalLength(undo.segments) - head.count, change };
    });
  }

  /** See StorageProvider.deleteSession. */
  async delete(sessionId: string, call?: Call): Promise<void> {
    for (;;) {
      const head = await this.settledHead(sessionId, call);
      if (await this.#writer.commitDeletion(head, call)) return;
      await this.#context.jitter(call);
    }
  }

  /** See StorageProvider.updateSession. Changes no message, so nothing is sealed. */
  async update(
    sessionId: string,
    change: SessionChange,
    expectedRevision: number | undefined,
    call?: Call,
  ): Promise<Head> {
    for (;;) {
      const head = await this.#context.need(sessionId, call);
      const { record } = head;
      if (expectedRevision !== undefined && expectedRevision !== record.version) {
        const text = `expected_revision is ${expectedRevision}, but the session's revision is ${record.version}`;
        throw new DomainError("aborted", text);
      }
      const title = change.title ?? record.title;
      const metadata = change.metadata ?? record.metadata;
      const isSame = title === record.title && sameStruct(metadata, record.metadata);
      if (isSame) return head;
      const updateTimeMicros = Math.max(record.updateTimeMicros, this.#context.options.nowMicros());
      const next = { ...nextOf(record), title, metadata, updateTimeMicros, version: record.version + 1 };
      const stored = await this.#writer.replace(record, next, call);
      if (stored) return { ...head, record: stored };
      await this.#context.jitter(call);
    }
  }

  /** Runs an edit until it is in, or has an answer that needs none; answers and refusals are never decided from an old head. */
  async edit<T>(sessionId: string, call: Call | undefined, plan: (head: Head) => Promise<EditPlan<T>>): Promise<T> {
    for (;;) {
      const head = await this.settledHead(sessionId, call);
      try {
        const { result, change } = await plan(head);
        if (!change && !this.#isOld(head)) {
          await this.reopen(head, call);
          return result;
        }
        if (change && (await this.#writer.commit(head, change, call))) return result;
      } catch (error) {
        const isRefusal = error instanceof DomainError && isDefinite(error);
        if (isRefusal && !this.#isOld(head)) {
          await this.reopen(head, call);
          throw error;
        }
        if (!isRefusal && !(error instanceof Again)) throw error;
      }
      await this.#context.jitter(call);
    }
  }

  /** A head read just now, whose log nobody else is closing. not_found: no such session. */
  async settledHead(sessionId: string, call?: Call): Promise<Head> {
    const head = await this.#context.need(sessionId, call);
    if (head.state === "open" || this.#writer.sealedHere(head)) return head;
    await this.#writer.waitForEditor(head, call);
    return this.#context.need(sessionId, call);
  }

  /** After an edit of ours that sealed the log and then was not needed. */
  async reopen(head: Head, call?: Call): Promise<void> {
    if (this.#writer.sealedHere(head)) await this.#writer.rollOver(head, call);
  }

  async #mustLocate(head: Head, messageId: string, call?: Call): Promise<Located> {
    const located = (await locateOnHead(this.#context, head, [messageId], call)).get(messageId);
    if (!located) throw noMessage(messageId, head.record.sessionId);
    return located;
  }

  /** What an unrevert would bring back: an append clears it. */
  #undoOf(head: Head): Head["record"]["undo"] {
    return head.seq > 0 && this.#context.keeps("append-clears-undo") ? null : head.record.undo;
  }

  #isOld(head: Head): boolean {
    return this.#context.isOld(head.atMs);
  }
}

/** The spec's ValueError: `up_to_message_id` is not in the session. */
export function noMessage(messageId: string, sessionId: string): DomainError {
  return invalidArgument(
    `up_to_message_id ${JSON.stringify(messageId)} is not in session ${JSON.stringify(sessionId)}`,
  );
}

/** Whether an error is an answer about the history, and not about the store or the call. */
export function isDefinite(error: DomainError): boolean {
  return ["not_found", "invalid_argument", "failed_precondition", "already_exists", "aborted"].includes(error.code);
}
