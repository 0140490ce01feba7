import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import { endMicros, type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Segment } from "../log-store.js";
import { countBefore, entryAt, readInChunks } from "../read/lookup.js";
import { namesLog } from "../record-facts.js";
import { Again } from "../retries.js";
import { joinSegments, runToMerge, weaveSegments } from "../segments.js";
import { undoAt } from "../undo.js";
import type { NamedLogs } from "./named-logs.js";
import type { RecordWriter } from "./record-writer.js";
import type { Attempt, SideLogs, Unplaced } from "./side-logs.js";

export type Placement<T> = { readonly answer: T } | { readonly lost: Attempt | null };

/** Puts messages that are not the newest where their timestamps belong, and merges segments when there are too many. */
export class Placer {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #namedLogs: NamedLogs;
  readonly #sideLogs: SideLogs;

  constructor(context: HistoryContext, writer: RecordWriter, namedLogs: NamedLogs, sideLogs: SideLogs) {
    this.#context = context;
    this.#writer = writer;
    this.#namedLogs = namedLogs;
    this.#sideLogs = sideLogs;
  }

  /**
   * Puts messages, sorted by timestamp, into the history of a head, each after all visible ones with the same or an
   * earlier timestamp. `answer` receives the positions that they will have, and may refuse by throwing before the
   * record is replaced. `lost`: somebody else was first; load the head and call again. `isAppend`: the revision that
   * callers see does not change.
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
    const pieces = weaveSegments(visible, cuts, "", 0).length;
    const { maxSegments } = this.#context.options;
    if (pieces > maxSegments && visible.length > 1) {
      const mergesEnough = 4 * new Set(cuts).size <= maxSegments;
      if (!mergesEnough) return this.#placeByCopy(head, messages, isAppend, answer, call);
      await this.merge(head, call);
      return { lost: null };
    }
    const written = await this.#sideLogs.write(head, messages, earlier, call);
    if (!written) return { lost: null };
    const { attempt } = written;
    const segments = weaveSegments(visible, cuts, attempt.log, attempt.base);
    const change = {
      segments,
      lastTimestampMicros: lastOf(head, messages),
      undo: null,
      kept: cuts[0] ?? head.count,
      isAppend,
      added: messages.map(({ id }) => id),
    };
    return (await this.#writer.commit(written.head, change, call)) ? { answer: answered } : { lost: attempt };
  }

  /** Copies a run of neighbouring segments with few messages into one fresh log. Appends may continue meanwhile. */
  async merge(head: Head, call?: Call): Promise<void> {
    const { options } = this.#context;
    const visible = visibleSegments(head);
    const { from, size } = runToMerge(visible, options.mergeSegments, options.mergeMessages);
    const run = visible.slice(from, from + size);
    await this.#copying(head, call, async (named, log) => {
      let written = 0;
      for await (const chunk of readInChunks(this.#context, run, call)) {
        if ((await this.#sideLogs.append(named, log, written, chunk, call)) !== true) return null;
        written += chunk.length;
      }
      const front = visible.slice(0, from);
      const back = visible.slice(from + size);
      const whole = { log, first: 1, last: written };
      return this.#commitCopy(named, (now) => joinSegments(front, [whole], back, restOf(head, now)), log, call);
    });
  }

  /**
   * Copies the whole history, with the messages merged in, into one fresh log. Used when inserting the messages would
   * splinter the history too much.
   */
  async #placeByCopy<T>(
    head: Head,
    messages: readonly Unplaced[],
    isAppend: boolean,
    answer: (positions: readonly number[]) => T,
    call?: Call,
  ): Promise<Placement<T>> {
    const answered = await this.#copying(head, call, async (named, log) => {
      const positions: number[] = [];
      let written = 0;
      const write = async (merged: readonly Unplaced[]) => {
        if ((await this.#sideLogs.append(named, log, written, merged, call)) !== true) throw new Again();
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
      const answered = answer(positions);
      const change = {
        segments: [{ log, first: 1, last: written }],
        lastTimestampMicros: lastOf(head, messages),
        undo: null,
        kept: positions[0] ?? head.count,
        isAppend,
        added: messages.map(({ id }) => id),
      };
      return (await this.#writer.commit(named, change, call)) && { answer: answered };
    });
    return answered ?? { lost: null };
  }

  /**
   * Has the record name a fresh log before anything is copied into it. If the copy fails, the name is removed; if this
   * process dies before that, the next edit or a sweep removes it. Null when somebody else was first.
   */
  async #copying<T>(
    head: Head,
    call: Call | undefined,
    copy: (named: Head, log: string) => Promise<T | null>,
  ): Promise<T | null> {
    const named = await this.#namedLogs.name(head, "copy", call);
    if (!named) return null;
    const giveUp = () => this.#namedLogs.unname(named.head.record, named.log, call);
    const copied = await copy(named.head, named.log).catch(async (error: unknown) => {
      // If the call has ended, the next edit or a sweep removes the name.
      if (!(error instanceof DomainError)) await giveUp();
      throw error;
    });
    if (copied === null) await giveUp();
    return copied;
  }

  /** Replaces the originals by their copy, unless somebody has changed the history meanwhile. */
  async #commitCopy(head: Head, segmentsAt: (now: Head) => Segment[], log: string, call?: Call): Promise<Head | null> {
    const { sessionId } = head.record;
    const isContinued = (now: Head) => now.record.log === head.record.log && namesLog(now.record, log);
    let known: Head | null = head;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const now = known ?? (await this.#context.load(sessionId, call));
      known = null;
      if (!now || !isContinued(now)) return null;
      saw(now);
      const change = {
        segments: segmentsAt(now),
        lastTimestampMicros: now.lastTimestampMicros,
        undo: undoAt(now.record, now.seq),
        kept: null,
      };
      const committed = await this.#writer.commit(now, change, call);
      if (!committed) throw new Again();
      return committed;
    });
  }

  /**
   * For each message, the number of visible messages that stay before it. Null when the messages belong in so many
   * different places that a copy is cheaper.
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
      if (timestampMicros >= endMicros(head)) {
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
}

/**
 * The timestamp that the last message of the history will have once these messages, which are sorted by timestamp, are
 * inserted.
 */
function lastOf(head: Head, messages: readonly Unplaced[]): number | null {
  const last = messages.at(-1);
  return last ? Math.max(endMicros(head), last.timestampMicros) : head.lastTimestampMicros;
}

function restOf(head: Head, now: Head): Segment[] {
  return [{ log: head.record.log, first: head.seq + 1, last: now.seq }];
}
