import { type Call, checkCall } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, Segment, SessionRecord, StoredAttachment } from "../log-store.js";
import { recordBatches } from "../record-batches.js";
import { openDrafts, ownerOf } from "../record-facts.js";
import { Again } from "../retries.js";
import type { SweepFailures } from "../sweep-failures.js";
import type { EditorWait } from "../write/editor-wait.js";
import type { RecordWriter } from "../write/record-writer.js";
import { wholeLog } from "./attachment-finder.js";

/** How many rows are read at a time. */
const BATCH = 100;

interface RemovalParts {
  readonly context: HistoryContext;
  readonly writer: RecordWriter;
  readonly editorWait: EditorWait;
}

/**
 * Removes attachments that nothing names. Nothing is counted: what names an attachment is looked up. So that nobody can
 * come to name it meanwhile, its row is doomed first, and then the open log of its session is replaced: whoever has
 * looked at the row before then fails to append, and looks again. Any process may do each step, several at once, and
 * again after a crash.
 */
export class AttachmentRemoval {
  readonly #parts: RemovalParts;
  readonly #context: HistoryContext;

  constructor(parts: RemovalParts) {
    this.#parts = parts;
    this.#context = parts.context;
  }

  /**
   * Looks at all attachments of the namespace whose time has come, and removes those that nothing names. Calls
   * `onRemoved` for each.
   */
  async sweep(failures: SweepFailures, call: Call, onRemoved: () => void): Promise<void> {
    const { options, store } = this.#context;
    if (store.attachments === undefined) return;
    const nowMs = await store.timeMs(call);
    await store.attachments.clearLate?.(nowMs - options.sweepAgeMs, call);
    for (const state of ["arriving", "doomed", "stored"] as const) {
      const untilMs = nowMs - (state === "stored" ? options.attachmentIdleMs : options.sweepAgeMs);
      await this.#sweepAll(state, untilMs, nowMs, failures, call, onRemoved);
    }
  }

  async #sweepAll(
    state: StoredAttachment["state"],
    untilMs: number,
    nowMs: number,
    failures: SweepFailures,
    call: Call,
    onRemoved: () => void,
  ): Promise<void> {
    const { attachments, store } = this.#context;
    // What cannot be removed now is looked at again the next time, and does not hide what comes after it.
    for (let due: readonly StoredAttachment[] | null = null; due === null || due.length === BATCH; ) {
      checkCall(call);
      due = await attachments.listSeen(state, Math.min(untilMs, nowMs - 1), BATCH, call);
      for (const one of due) {
        const pieces = state === "arriving" ? await attachments.lastPiece(one.log, call) : one.pieces;
        await attachments.change(one.log, { seenMs: nowMs, pieces }, call);
        const record = await store.readRecordByUid(one.uid, call);
        // A row may come late where the store does not check the session in the same step.
        if (record === null) await this.deleteNow(one, call);
        if (record === null || pieces !== one.pieces) continue;
        await failures.attempt(record, call, async () => {
          if (await this.removeUnnamed(one, call)) onRemoved();
        });
      }
    }
  }

  /** Removes an attachment if nothing names it. Resolves to whether it did. */
  async removeUnnamed(attachment: StoredAttachment, call?: Call): Promise<boolean> {
    if (await this.isNamed(attachment, call)) return false;
    await this.doom(attachment, call);
    return this.finish(attachment, call);
  }

  /** Whether any stored message or draft names it, in whatever session. */
  async isNamed({ log }: StoredAttachment, call?: Call): Promise<boolean> {
    return (await this.#context.attachments.namings(log, undefined, 1, call)).length > 0;
  }

  /** From now on, nothing can come to name it that does not show it already. A sweep finishes what this begins. */
  async doom({ log }: Pick<StoredAttachment, "log">, call?: Call): Promise<void> {
    // Rule: doomed-then-sealed.
    await this.#context.attachments.change(log, { seenMs: 0, state: "doomed" }, call);
  }

  /**
   * Removes a doomed attachment, unless something names it or a draft is open that might. Resolves to whether it was
   * removed.
   */
  async finish(attachment: StoredAttachment, call?: Call): Promise<boolean> {
    const row = await this.#context.attachments.findLog(attachment.log, call);
    if (row !== null && hasArrived(row)) {
      // Rule: doomed-then-sealed.
      if (await this.#mayGrow(attachment.uid, call)) return false;
      // Rule: doomed-then-sealed.
      await this.#replaceLog(attachment.uid, call);
    }
    if (await this.isNamed(attachment, call)) return false;
    await this.deleteNow(attachment, call);
    return true;
  }

  /** Deletes pieces and row, whatever names it. */
  async deleteNow({ uid, log }: Pick<StoredAttachment, "uid" | "log">, call?: Call): Promise<void> {
    const { attachments, store, options, quotas, counts } = this.#context;
    const record = await store.readRecordByUid(uid, call);
    const isCounted = record !== null && counts.counts(record);
    const bytes = isCounted ? await store.entryBytes([wholeLog(log)], call) : 0;
    while (await store.deleteEntries(wholeLog(log), options.chunk, call));
    await attachments.remove(log, call);
    if (isCounted) quotas.note(record, -bytes);
  }

  /**
   * Dooms what these entries name, because they are about to be erased, and what interrupted uploads under the same ids
   * have left.
   */
  async doomAll(entries: readonly Entry[], call?: Call): Promise<void> {
    const ids = new Map<string, Set<string>>();
    for (const named of entries.flatMap(({ body }) => body.attachments)) {
      await this.doom(named, call);
      const uid = ownerOf(named.log);
      ids.set(uid, (ids.get(uid) ?? new Set()).add(named.attachmentId));
    }
    for (const [uid, wanted] of ids) {
      for await (const row of this.#rowsOf(uid, call)) {
        if (row.state === "arriving" && wanted.has(row.attachmentId)) await this.doom(row, call);
      }
    }
  }

  /**
   * Removes all doomed attachments that nothing names any more, because what named them was erased. `shows`: whether a
   * session shows an erased message.
   */
  async removeDoomed(shows: (record: SessionRecord) => boolean, call: Call): Promise<void> {
    const { store } = this.#context;
    const { attachments } = store;
    if (attachments === undefined) return;
    const nowMs = await store.timeMs(call);
    let sealed: Set<string> | undefined;
    for (let doomed: readonly StoredAttachment[] | null = null; doomed === null || doomed.length === BATCH; ) {
      checkCall(call);
      doomed = await attachments.listSeen("doomed", nowMs - 1, BATCH, call);
      if (doomed.length === 0) return;
      // Rule: doomed-then-sealed.
      sealed ??= await this.#sealShowing(shows, call);
      for (const one of doomed) {
        if (!sealed.has(one.uid)) await this.#replaceLog(one.uid, call);
        sealed.add(one.uid);
        if (await this.isNamed(one, call)) await attachments.change(one.log, { seenMs: nowMs }, call);
        else await this.deleteNow(one, call);
      }
    }
  }

  /**
   * Replaces the logs of sessions that show erased messages: who has seen such a message before must not come to name
   * its attachments. Resolves to the uids of the sessions.
   */
  async #sealShowing(shows: (record: SessionRecord) => boolean, call: Call): Promise<Set<string>> {
    const sealed = new Set<string>();
    for await (const records of recordBatches(this.#context.store, call)) {
      for (const { uid } of records.filter(shows)) {
        await this.#replaceLog(uid, call);
        sealed.add(uid);
      }
    }
    return sealed;
  }

  /** Deletes all attachments that were uploaded to a session, whatever names them. */
  async deleteAllOf(uid: string, call: Call): Promise<void> {
    if (this.#context.store.attachments === undefined) return;
    for await (const one of this.#rowsOf(uid, call)) await this.deleteNow(one, call);
  }

  /** All rows of a session, which may be removed meanwhile. */
  async *#rowsOf(uid: string, call?: Call): AsyncGenerator<StoredAttachment> {
    for (let after = ""; ; ) {
      const some = await this.#context.attachments.list(uid, after, BATCH, call);
      yield* some;
      after = some.at(-1)?.log ?? after;
      if (some.length < BATCH) return;
    }
  }

  /** Removes those attachments of these logs that nothing names any more, because a range that named them is gone. */
  async removeLeft(targets: readonly string[], call: Call): Promise<void> {
    for (const target of targets) {
      const attachment = await this.#context.attachments.findLog(target, call);
      if (attachment !== null) await this.removeUnnamed(attachment, call);
    }
  }

  /** The logs of the attachments that a range names, to be asked before it is deleted. */
  async targetsIn(range: Segment, call: Call): Promise<readonly string[]> {
    if (this.#context.store.attachments === undefined) return [];
    return this.#context.attachments.targetsIn(range, this.#context.options.chunk, call);
  }

  /** Whether a session is being restored or has an open draft, to which a fresh log makes no difference. */
  async #mayGrow(uid: string, call?: Call): Promise<boolean> {
    const record = await this.#context.store.readRecordByUid(uid, call);
    return record !== null && (record.restoring === true || (!record.deleted && openDrafts(record).length > 0));
  }

  /**
   * Gives a session a fresh log, unless it is gone. Who has looked at an attachment before can neither append any more
   * nor commit a side log without looking again.
   */
  async #replaceLog(uid: string, call?: Call): Promise<void> {
    const { store } = this.#context;
    const seen = await store.readRecordByUid(uid, call);
    if (seen === null || seen.deleted) return;
    await this.#context.retrying(seen.sessionId, call, async (saw) => {
      const record = await store.readRecordByUid(uid, call);
      if (record === null || record.deleted) return;
      const head = await this.#headOf(record, call);
      saw(head);
      if (head.state !== "open") {
        await this.#parts.editorWait.settle(head, call);
        throw new Again();
      }
      if (!(await this.#parts.writer.rollOver(head, call))) throw new Again();
    });
  }

  #headOf(record: SessionRecord, call?: Call) {
    return this.#context.headOf(record, this.#context.knownMs(), call);
  }
}

/** Whether it was whole before it was doomed, so that somebody may have come to name it. */
export function hasArrived({ sha256 }: StoredAttachment): boolean {
  return sha256 !== "";
}
