import type { Call } from "../../domain/call.js";
import { Again, type Head, type HistoryContext, visibleSegments } from "./heads.js";
import type { DroppedRange, EditMark, NextRecord, Segment, SessionRecord } from "./log-store.js";
import { droppedRanges, namedSegments, OPEN_END, ownerOf, totalLength } from "./segments.js";

/** What an edit makes of a history. */
export interface HistoryChange {
  readonly segments: readonly Segment[];
  readonly lastTimestampMicros: number;
  readonly undo: SessionRecord["undo"];
  /** Messages in front that the edit leaves as they are; null when it changes none of them. */
  readonly kept: number | null;
  /** Whether it puts older messages in, as an append: then the revision that callers see stays. */
  readonly isAppend?: boolean | undefined;
  /** The log that older messages went into. */
  readonly sideLog?: string | undefined;
  readonly sources?: readonly string[] | undefined;
}

/** Rollovers in a row end after this. */
const ROW_MS = 60_000;
const MAX_EDITOR_WAIT_MS = 10_000;

/** Replaces records by the three rules: seal, plan on the sealed log, compare-and-set. */
export class RecordWriter {
  readonly #context: HistoryContext;
  /** Session id -> the open log that this process sealed last: it need not wait for itself. */
  readonly #sealedHere = new Map<string, string>();
  /** uid -> copies in logs that no record will ever name, to be noted in the next record. */
  readonly #waste = new Map<string, Segment[]>();

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** Whether the open log is sealed, and by this process. */
  sealedHere(head: Head): boolean {
    return head.state === "sealed" && this.#sealedHere.get(head.record.sessionId) === head.record.log;
  }

  /**
   * Seals the open log at the head's end and puts the changed record in its place. Null: somebody was first; look again.
   * What it answers is the new head.
   */
  async commit(head: Head, change: HistoryChange, call?: Call): Promise<Head | null> {
    const { options } = this.#context;
    const { record } = head;
    if (!(await this.#sealAt(head, call))) return null;
    const atMs = options.clockMs();
    const revision = record.revision + 1;
    const next: NextRecord = {
      ...nextOf(record),
      segments: change.segments,
      log: this.#context.newLog(record.uid),
      lastTimestampMicros: change.lastTimestampMicros,
      undo: change.undo,
      sideLog: change.sideLog ?? record.sideLog,
      sources: change.sources ?? record.sources,
      rollovers: { count: 0, atMs: 0 },
      edits: this.#editsAfter(record, revision, change.kept),
      version: change.kept === null || change.isAppend ? record.version : record.version + 1,
      updateTimeMicros: change.kept === null ? record.updateTimeMicros : this.#updateTime(record),
    };
    const stored = await this.replace(record, next, call);
    if (!stored) return null;
    this.#sealedHere.delete(record.sessionId);
    return this.#emptyLogHead(stored, atMs);
  }

  /** Seals, and makes the record a tombstone. false: somebody was first. */
  async commitDeletion(head: Head, call?: Call): Promise<boolean> {
    const { record } = head;
    if (!(await this.#sealAt(head, call))) return false;
    const next = { ...nextOf(record), title: "", metadata: undefined, deleted: true };
    const stored = await this.replace(record, next, call);
    if (stored) this.#sealedHere.delete(record.sessionId);
    return stored !== null;
  }

  /** The same messages as closed segments, and a fresh log. Null: somebody was first. */
  async rollOver(head: Head, call?: Call): Promise<Head | null> {
    const { options } = this.#context;
    const { record } = head;
    const end = this.#context.keeps("rollover-seals")
      ? await this.#context.store.seal(record.log, undefined, call)
      : head.seq;
    await this.clearIfOrphaned(head.atMs, record.uid, call);
    if (end !== head.seq) {
      this.#context.forget(record.sessionId);
      return null;
    }
    // When only the title changes meanwhile, the next try need not wait for an editor again.
    this.#noteSealed(record);
    const atMs = options.clockMs();
    const clearsUndo = head.seq > 0 && this.#context.keeps("rollover-clears-undo");
    const next: NextRecord = {
      ...nextOf(record),
      segments: visibleSegments(head),
      log: this.#context.newLog(record.uid),
      lastTimestampMicros: head.lastTimestampMicros,
      undo: clearsUndo ? null : record.undo,
      rollovers: { count: this.#rolloversInRow(record) + 1, atMs: this.#nowMs() },
      updateTimeMicros: head.seq > 0 ? this.#updateTime(record) : record.updateTimeMicros,
    };
    const stored = await this.replace(record, next, call);
    if (!stored) return null;
    this.#sealedHere.delete(record.sessionId);
    return this.#emptyLogHead(stored, atMs);
  }

  /**
   * Waits for whoever sealed the log, or writes a batch; after a while, that doubles with every rollover in a row, rolls over itself.
   * Rejects when the call ends. The caller loads the head again.
   */
  async waitForEditor(head: Head, call?: Call): Promise<void> {
    const { options } = this.#context;
    const { record } = head;
    if (this.#context.keeps("wait-for-editor")) {
      const waitMs = Math.min(options.editorWaitMs * 2 ** this.#rolloversInRow(record), MAX_EDITOR_WAIT_MS);
      if (await this.#changesWithin(head, waitMs, call)) return;
    }
    const now = await this.#context.load(record.sessionId, call);
    if (now && now.state !== "open" && isSameMoment(now, head)) await this.rollOver(now, call);
  }

  /**
   * Puts a new record in place if the revision is still what was read. Notes what it names no more; when nobody counts on the session and it names only
   * its own logs, lets go of its sources.
   */
  async replace(record: SessionRecord, next: NextRecord, call?: Call): Promise<SessionRecord | null> {
    const { options, store } = this.#context;
    const dropped = next.deleted ? [] : [...droppedRanges(record, next), ...(this.#waste.get(record.uid) ?? [])];
    const losesSideLog =
      this.#context.keeps("dropped-side-log") && dropped.some((range) => range.log === (next.sideLog ?? ""));
    const full: NextRecord = {
      ...next,
      revision: record.revision + 1,
      sideLog: losesSideLog ? null : next.sideLog,
      dropped: [...record.dropped, ...dropped].slice(0, options.maxDropped),
    };
    this.#context.forget(record.sessionId);
    const stored = await store.replaceRecord(full, record.revision, call);
    if (!stored) return null;
    this.#waste.delete(record.uid);
    return next.deleted ? stored : await this.#releaseSources(stored, call);
  }

  /** Notes a copy that no record will name: cleared with the next record that this process writes, or with the session. */
  noteWaste(uid: string, log: string): void {
    const noted = this.#waste.get(uid) ?? [];
    if (noted.length < this.#context.options.maxDropped) {
      this.#waste.set(uid, [...noted, { log, first: 1, last: OPEN_END }]);
    }
  }

  /** After a slow write: when nobody has this uid any more, nobody would ever clear it away. */
  async clearIfOrphaned(sinceMs: number, uid: string, call?: Call): Promise<void> {
    if (!this.#context.isOld(sinceMs) || !this.#context.keeps("orphans-deleted")) return;
    const { options, store } = this.#context;
    if (await store.addFork(uid, 0, undefined, call)) return;
    while (await store.deleteEntries({ uid }, options.chunk, call));
  }

  async #sealAt(head: Head, call?: Call): Promise<boolean> {
    const { record } = head;
    this.#context.forget(record.sessionId);
    const end = this.#context.keeps("seal-before-edit")
      ? await this.#context.store.seal(record.log, head.state === "owed" ? undefined : head.seq, call)
      : head.seq;
    if (head.state !== "sealed") this.#noteSealed(record);
    await this.clearIfOrphaned(head.atMs, record.uid, call);
    // More came before the seal: nothing can any more, so the next try stands on firm ground.
    return end === head.seq || !this.#context.keeps("plan-on-sealed");
  }

  async #releaseSources(stored: SessionRecord, call?: Call): Promise<SessionRecord> {
    const { store } = this.#context;
    const unforked = stored.forks === 0 || !this.#context.keeps("lower-unforked-only");
    const ownOnly =
      namedSegments(stored).every((segment) => ownerOf(segment.log) === stored.uid) ||
      !this.#context.keeps("lower-unnamed-only");
    if (stored.sources.length === 0 || !unforked || !ownOnly) return stored;
    const next = { ...nextOf(stored), sources: [], revision: stored.revision + 1 };
    const released = await store.replaceRecord(next, stored.revision, call);
    if (!released) return stored;
    for (const source of stored.sources) await store.addFork(source, -1, undefined, call);
    return released;
  }

  async #changesWithin(head: Head, waitMs: number, call?: Call): Promise<boolean> {
    const { options } = this.#context;
    const until = options.clockMs() + waitMs;
    for (let pauseMs = Math.max(waitMs / 16, 1); ; pauseMs *= 1.5) {
      const leftMs = until - options.clockMs();
      if (leftMs <= 0) return false;
      await options.pause(Math.min(pauseMs, leftMs), call?.signal);
      const now = await this.#context.load(head.record.sessionId, call);
      if (!now || now.state === "open" || !isSameMoment(now, head)) return true;
    }
  }

  #emptyLogHead(record: SessionRecord, atMs: number): Head {
    const head: Head = {
      record,
      seq: 0,
      state: "open",
      count: totalLength(record.segments),
      lastTimestampMicros: record.lastTimestampMicros,
      lastId: null,
      atMs,
    };
    this.#context.remember(head);
    return head;
  }

  #noteSealed({ sessionId, log }: SessionRecord): void {
    this.#sealedHere.delete(sessionId);
    this.#sealedHere.set(sessionId, log);
    const [oldest] = this.#sealedHere.keys();
    if (oldest !== undefined && this.#sealedHere.size > this.#context.options.maxHeads) this.#sealedHere.delete(oldest);
  }

  #rolloversInRow(record: SessionRecord): number {
    return this.#nowMs() - record.rollovers.atMs > ROW_MS ? 0 : record.rollovers.count;
  }

  #editsAfter(record: SessionRecord, revision: number, kept: number | null): readonly EditMark[] {
    if (kept === null) return record.edits;
    return [...record.edits, { revision, kept }].slice(-this.#context.options.maxEdits);
  }

  #updateTime(record: SessionRecord): number {
    return Math.max(record.updateTimeMicros, this.#context.options.nowMicros());
  }

  #nowMs(): number {
    return Math.floor(this.#context.options.nowMicros() / 1000);
  }
}

/** The record as a caller of `replaceRecord` gives it. */
export function nextOf(record: SessionRecord): NextRecord {
  const { forks: _forks, deletedAtMs: _deletedAtMs, ...rest } = record;
  return { ...rest, dropped: rest.dropped as readonly DroppedRange[], deleted: false };
}

function isSameMoment(a: Head, b: Head): boolean {
  return a.record.log === b.record.log && a.record.revision === b.record.revision;
}

/** Runs an attempt until it answers something else than `Again`, with a short wait before each new try. */
export async function retrying<T>(
  context: HistoryContext,
  call: Call | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Again)) throw error;
      await context.jitter(call);
    }
  }
}
