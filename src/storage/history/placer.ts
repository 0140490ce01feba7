import type { Call } from "../../domain/call.js";
import { Again, type Head, type HistoryContext, visibleSegments } from "./heads.js";
import type { Entry, Segment } from "./log-store.js";
import { countBefore, entryAt, readInChunks } from "./lookup.js";
import type { RecordWriter } from "./record-writer.js";
import { joinSegments, sliceSegments, totalLength } from "./segments.js";

/** A message that is to be put in its place; the place itself comes with the log it is written to. */
export type Unplaced = Omit<Entry, "log" | "seq">;

/** What a lost attempt has written already. Of use only while nobody else can have written, or cleared away, the same places. */
export interface Attempt {
  readonly uid: string;
  readonly log: string;
  /** Entries of the log in front of ours. */
  readonly base: number;
  /** Whether the log was made for this attempt, so that no record names it. */
  readonly isNew: boolean;
  readonly key: string;
}

export type Placement<T> = { readonly answer: T } | { readonly lost: Attempt | null };

/** Puts messages that are not the newest where their timestamps belong, and merges segments when there are too many. */
export class Placer {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;

  constructor(context: HistoryContext, writer: RecordWriter) {
    this.#context = context;
    this.#writer = writer;
  }

  /**
   * Puts messages, sorted by timestamp, into the history of a head: behind all visible ones with the same or an earlier timestamp. `answer` sees the
   * positions that they will have, and may refuse by throwing, before the record is replaced. `lost`: somebody was first; load the head and call again.
   * `isAppend`: the caller's revision stays.
   */
  async place<T>(
    head: Head,
    messages: readonly Unplaced[],
    earlier: Attempt | null,
    isAppend: boolean,
    answer: (positions: readonly number[]) => T,
    call?: Call,
  ): Promise<Placement<T>> {
    const visible = visibleSegments(head);
    const cuts = await this.#cuts(head, visible, messages, call);
    if (cuts === null) return this.#placeByCopy(head, messages, isAppend, answer, call);
    const answered = answer(cuts.map((cut, i) => cut + i));
    const pieces = weave(visible, cuts, "", 0).length;
    const { maxSegments } = this.#context.options;
    if (pieces > maxSegments && visible.length > 1) {
      const mergesEnough = 4 * new Set(cuts).size <= maxSegments && 2 * visible.length > maxSegments;
      if (!mergesEnough) return this.#placeByCopy(head, messages, isAppend, answer, call);
      await this.merge(head, call);
      return { lost: null };
    }
    const reusable = earlier && this.#isReusable(earlier, head, messages) ? earlier : null;
    const attempt = reusable ?? (await this.#write(head, messages, call));
    if (!attempt) return { lost: null };
    const segments = weave(visible, cuts, attempt.log, attempt.base);
    const change = {
      segments,
      lastTimestampMicros: Math.max(head.lastTimestampMicros, messages.at(-1)?.timestampMicros ?? 0),
      undo: null,
      sideLog: attempt.log,
      kept: cuts[0] ?? head.count,
      isAppend,
    };
    return (await this.#writer.commit(head, change, call)) ? { answer: answered } : { lost: attempt };
  }

  /** Copies the run of neighbouring segments with the fewest messages into a fresh log, as one. Appends meanwhile do not spoil it. */
  async merge(head: Head, call?: Call): Promise<void> {
    const { options } = this.#context;
    const visible = visibleSegments(head);
    const size = Math.max(2, Math.min(options.mergeSegments, visible.length));
    const from = smallestRun(visible, size);
    const run = visible.slice(from, from + size);
    const log = this.#context.newLog(head.record.uid);
    let written = 0;
    for await (const chunk of readInChunks(this.#context, run, call)) {
      if (!(await this.#append(head, log, written, chunk, call))) return;
      written += chunk.length;
    }
    await this.#writer.clearIfOrphaned(head.atMs, head.record.uid, call);
    const front = visible.slice(0, from);
    const back = visible.slice(from + size);
    await this.#commitCopy(
      head,
      (now) => joinSegments(front, [{ log, first: 1, last: written }], back, restOf(head, now)),
      log,
      call,
    );
  }

  /** The whole history, with the messages in it, in one fresh log: when they would splinter it too much. */
  async #placeByCopy<T>(
    head: Head,
    messages: readonly Unplaced[],
    isAppend: boolean,
    answer: (positions: readonly number[]) => T,
    call?: Call,
  ): Promise<Placement<T>> {
    const log = this.#context.newLog(head.record.uid);
    const positions: number[] = [];
    let written = 0;
    const write = async (merged: readonly Unplaced[]) => {
      if (!(await this.#append(head, log, written, merged, call))) throw new Again();
      written += merged.length;
    };
    for await (const chunk of readInChunks(this.#context, visibleSegments(head), call)) {
      const merged: Unplaced[] = [];
      for (const entry of chunk) {
        for (let next = messages[positions.length]; next && next.timestampMicros < entry.timestampMicros; ) {
          positions.push(written + merged.length);
          merged.push(next);
          next = messages[positions.length];
        }
        merged.push(entry);
      }
      await write(merged);
    }
    const newest = messages.slice(positions.length);
    for (const i of newest.keys()) positions.push(written + i);
    await write(newest);
    await this.#writer.clearIfOrphaned(head.atMs, head.record.uid, call);
    const answered = answer(positions);
    const segments = [{ log, first: 1, last: written }];
    const kept = positions[0] ?? head.count;
    const change = {
      segments,
      lastTimestampMicros: Math.max(head.lastTimestampMicros, messages.at(-1)?.timestampMicros ?? 0),
      undo: null,
      kept,
      isAppend,
    };
    if (await this.#writer.commit(head, change, call)) return { answer: answered };
    this.#writer.noteWaste(head.record.uid, log);
    return { lost: null };
  }

  async #commitCopy(head: Head, segmentsAt: (now: Head) => Segment[], log: string, call?: Call): Promise<void> {
    const { sessionId } = head.record;
    for (let now: Head | null = head; now && isContinued(head, now); now = await this.#context.load(sessionId, call)) {
      const change = {
        segments: segmentsAt(now),
        lastTimestampMicros: now.lastTimestampMicros,
        undo: now.seq === 0 ? now.record.undo : null,
        kept: null,
      };
      if (await this.#writer.commit(now, change, call)) return;
    }
    this.#writer.noteWaste(head.record.uid, log);
  }

  /**
   * For each message the number of visible ones that stay in front of it. Null: more different places than segments are allowed, so that a copy is
   * cheaper.
   */
  async #cuts(
    head: Head,
    visible: readonly Segment[],
    messages: readonly Unplaced[],
    call?: Call,
  ): Promise<number[] | null> {
    const cuts: number[] = [];
    let cut = 0;
    let nextMicros = Number.NEGATIVE_INFINITY;
    let different = 0;
    for (const { timestampMicros } of messages) {
      if (timestampMicros >= head.lastTimestampMicros) {
        cut = head.count;
      } else if (timestampMicros >= nextMicros) {
        if (++different > Math.max(this.#context.options.maxSegments >> 1, 1)) return null;
        cut = await countBefore(this.#context, visible, timestampMicros + 1, call);
        nextMicros = (await entryAt(this.#context, visible, cut, call)).timestampMicros;
      }
      cuts.push(cut);
    }
    return cuts;
  }

  #isReusable(attempt: Attempt, head: Head, messages: readonly Unplaced[]): boolean {
    const isNamed = attempt.isNew || head.record.sideLog === attempt.log || !this.#context.keeps("side-log-reuse");
    return isNamed && attempt.uid === head.record.uid && attempt.key === keyOf(messages);
  }

  /** Into the side log that the record names, or into a fresh one. Null: lost against another writer. */
  async #write(head: Head, messages: readonly Unplaced[], call?: Call): Promise<Attempt | null> {
    const { uid, sideLog } = head.record;
    const key = keyOf(messages);
    if (sideLog && messages.length <= this.#context.options.chunk) {
      const base = (await this.#context.store.tail(sideLog, call)).last?.seq ?? 0;
      const written = await this.#append(head, sideLog, base, messages, call);
      await this.#writer.clearIfOrphaned(head.atMs, uid, call);
      if (written) return { uid, log: sideLog, base, isNew: false, key };
    }
    const log = this.#context.newLog(uid);
    const written = await this.#append(head, log, 0, messages, call);
    await this.#writer.clearIfOrphaned(head.atMs, uid, call);
    return written ? { uid, log, base: 0, isNew: true, key } : null;
  }

  async #append(head: Head, log: string, base: number, messages: readonly Unplaced[], call?: Call): Promise<boolean> {
    const { chunk } = this.#context.options;
    const { sessionId } = head.record;
    for (let i = 0; i < messages.length; i += chunk) {
      const entries = messages
        .slice(i, i + chunk)
        .map((message, k) => ({ ...message, sessionId, log, seq: base + i + k + 1, owed: 0 }));
      if ((await this.#context.store.append(log, base + i + 1, entries, call)) !== entries.length) return false;
    }
    return true;
  }
}

/** The visible list with the messages at their places. */
function weave(visible: readonly Segment[], cuts: readonly number[], log: string, base: number): Segment[] {
  const woven: Segment[] = [];
  let from = 0;
  for (const [i, cut] of cuts.entries()) {
    woven.push(...sliceSegments(visible, from, cut), { log, first: base + i + 1, last: base + i + 1 });
    from = cut;
  }
  return joinSegments(woven, sliceSegments(visible, from));
}

function smallestRun(segments: readonly Segment[], size: number): number {
  let best = 0;
  let bestTotal = Number.POSITIVE_INFINITY;
  for (let from = 0; from + size <= segments.length; from++) {
    const total = totalLength(segments.slice(from, from + size));
    if (total < bestTotal) {
      bestTotal = total;
      best = from;
    }
  }
  return best;
}

function restOf(head: Head, now: Head): Segment[] {
  return [{ log: head.record.log, first: head.seq + 1, last: now.seq }];
}

function isContinued(head: Head, now: Head): boolean {
  return now.record.log === head.record.log && now.record.revision === head.record.revision;
}

function keyOf(messages: readonly Unplaced[]): string {
  return JSON.stringify(messages.map(({ id, timestampMicros }) => [id, timestampMicros]));
}
