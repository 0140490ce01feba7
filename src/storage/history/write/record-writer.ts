import type { Call } from "../../../domain/call.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { BinTimes, EditMark, NextRecord, Segment, SessionRecord, SingleEdit } from "../log-store.js";
import { tombstoneOf } from "../record-facts.js";
import { undoAt } from "../undo.js";
import { clearIfOrphaned } from "./orphans.js";
import { OwnSeals } from "./own-seals.js";
import { nextOf, type RecordReplacer } from "./record-replacer.js";
import { rolloversAfter } from "./rollovers.js";

/** The effect of an edit on a history. */
export interface HistoryChange {
  readonly segments: readonly Segment[];
  /** The timestamp of the last message of the segments; null when there is none. */
  readonly lastTimestampMicros: number | null;
  readonly undo: SessionRecord["undo"];
  /** How many messages at the front the edit does not change; null when it changes no message. */
  readonly kept: number | null;
  /** What happens to the first message after the kept ones, if the edit changes only that message. */
  readonly single?: SingleEdit | undefined;
  /**
   * Whether the edit only inserts older messages, which is an append to callers and does not change the revision that
   * they see.
   */
  readonly isAppend?: boolean | undefined;
  /** The log beside the open one whose entries the segments name now. The record stops naming it. */
  readonly sideLog?: string | undefined;
  /** The ids of the messages that the edit adds. */
  readonly added?: readonly string[] | undefined;
  /** Other fields that the record gets. */
  readonly fields?: Partial<NextRecord> | undefined;
}

/**
 * Returns the drafts that the record of a head has once its log is sealed and messages with the ids `added` are added
 * to the history. Drafts whose messages are in that log, or are added, have ended.
 */
export type DraftsAfterSeal = (
  head: Head,
  added: readonly string[] | undefined,
  call: Call | undefined,
) => Promise<SessionRecord["drafts"]>;

/**
 * Changes histories by three rules: seal the open log, plan on the sealed state, and replace the record by
 * compare-and-set.
 */
export class RecordWriter {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;
  readonly #draftsAfter: DraftsAfterSeal;
  readonly #ownSeals: OwnSeals;

  constructor(context: HistoryContext, replacer: RecordReplacer, draftsAfter: DraftsAfterSeal) {
    this.#context = context;
    this.#replacer = replacer;
    this.#draftsAfter = draftsAfter;
    this.#ownSeals = new OwnSeals(context.options.maxHeads);
  }

  /** Whether the open log was sealed by this process. */
  sealedHere(head: Head): boolean {
    return this.#ownSeals.has(head);
  }

  /**
   * Seals the open log at the head's end and replaces the record. Resolves to the new head; null when somebody else was
   * first.
   */
  async commit(head: Head, change: HistoryChange, call?: Call): Promise<Head | null> {
    const { record } = head;
    if (!(await this.#sealAt(head, call))) return null;
    const atMs = this.#context.knownMs();
    const { maxEdits } = this.#context.options;
    const next: NextRecord = {
      ...nextOf(record),
      segments: change.segments,
      log: this.#context.newLog(record.uid),
      lastTimestampMicros: change.lastTimestampMicros ?? 0,
      undo: change.undo,
      namedLogs: record.namedLogs.filter(({ log }) => log !== change.sideLog),
      drafts: await this.#draftsAfter(head, change.added, call),
      rollovers: { count: 0, atMs: 0 },
      edits: change.kept === null ? record.edits : withEdit(record, { ...change, kept: change.kept }, maxEdits),
      sessionRevision: record.sessionRevision + (change.kept === null || change.isAppend ? 0 : 1),
      updateTimeMicros: change.kept === null ? record.updateTimeMicros : this.#updateTime(record),
      ...change.fields,
    };
    return this.#replaceAndRemember(record, next, atMs, call);
  }

  /**
   * Seals the open log and makes the record a tombstone, which the session can be brought back from if there are times
   * of that. Resolves to false when somebody else was first.
   */
  async commitDeletion(head: Head, bin: BinTimes | undefined, call?: Call): Promise<boolean> {
    const { record } = head;
    if (!(await this.#sealAt(head, call))) return false;
    const next = bin === undefined ? tombstoneOf(nextOf(record)) : await this.#binned(head, bin, call);
    const stored = await this.#replacer.replace(record, next, call);
    if (!stored) return false;
    this.#ownSeals.forget(record);
    this.#context.quotas.noteDeleted(record);
    return true;
  }

  /** The record as a tombstone that keeps the session as it is, with an open log that nobody knows. */
  async #binned(head: Head, bin: BinTimes, call?: Call): Promise<NextRecord> {
    const { record } = head;
    return {
      ...nextOf(record),
      segments: visibleSegments(head),
      log: this.#context.newLog(record.uid),
      lastTimestampMicros: head.lastTimestampMicros ?? 0,
      undo: undoAt(record, head.seq),
      drafts: await this.#draftsAfter(head, [], call),
      // Rule: tickets-stay-ended.
      ticketGeneration: (record.ticketGeneration ?? 0) + 1,
      deleted: true,
      markedAtMs: null,
      bin,
    };
  }

  /**
   * Keeps the same messages as closed segments, and opens a fresh log. Resolves to the new head; null when somebody
   * else was first.
   */
  async rollOver(head: Head, call?: Call): Promise<Head | null> {
    const { record } = head;
    // Rule: rollover-seals.
    const end = await this.#context.store.seal(record.log, undefined, call);
    await clearIfOrphaned(this.#context, head.atMs, record.uid, call);
    if (end !== head.seq) {
      this.#context.forget(record.sessionId);
      return null;
    }
    // Somebody may change the title before the record is replaced. The next attempt then knows this seal as our own,
    // and does not wait for its sealer.
    this.#ownSeals.note(record);
    const atMs = this.#context.knownMs();
    const next: NextRecord = {
      ...nextOf(record),
      segments: visibleSegments(head),
      log: this.#context.newLog(record.uid),
      lastTimestampMicros: head.lastTimestampMicros ?? 0,
      // Rule: rollover-clears-undo.
      undo: undoAt(record, head.seq),
      drafts: await this.#draftsAfter(head, [], call),
      rollovers: rolloversAfter(record, this.#context),
      updateTimeMicros: head.seq > 0 ? this.#updateTime(record) : record.updateTimeMicros,
    };
    return this.#replaceAndRemember(record, next, atMs, call);
  }

  async #replaceAndRemember(record: SessionRecord, next: NextRecord, atMs: number, call?: Call): Promise<Head | null> {
    const stored = await this.#replacer.replace(record, next, call);
    if (!stored) return null;
    this.#ownSeals.forget(record);
    return this.#context.rememberEmpty(stored, atMs);
  }

  /** Seals the open log. Resolves to whether it ends where the head does. */
  async #sealAt(head: Head, call?: Call): Promise<boolean> {
    const { record } = head;
    this.#context.forget(record.sessionId);
    // Rule: seal-before-edit.
    const end = await this.#context.store.seal(record.log, head.state === "unfinished" ? undefined : head.seq, call);
    if (head.state !== "sealed" && end !== "unnamed") this.#ownSeals.note(record);
    await clearIfOrphaned(this.#context, head.atMs, record.uid, call);
    // Rule: plan-on-sealed. If further messages came before the seal, the next attempt plans on them, and none can come
    // after it.
    return end === head.seq;
  }

  #updateTime(record: SessionRecord): number {
    return Math.max(record.updateTimeMicros, this.#context.options.nowMicros());
  }
}

/** The edits of a record after one more. */
export function withEdit(
  { edits, revision: last }: SessionRecord,
  { kept, single, erased }: Omit<EditMark, "revision">,
  maxEdits: number,
): readonly EditMark[] {
  const mark = { revision: last + 1, kept, ...(single && { single }), ...(erased && { erased }) };
  const before = edits.map(({ revision, kept, erased }) => ({ revision, kept, ...(erased && { erased }) }));
  return [...before, mark].slice(-maxEdits);
}
