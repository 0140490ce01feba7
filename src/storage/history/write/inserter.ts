import type { Call } from "../../../domain/call.js";
import { endMicros, type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Segment } from "../log-store.js";
import { countBefore, entryAt, readSegments, readTogether } from "../read/lookup.js";
import {
  isSameList,
  placeAt,
  positionOf,
  runToMerge,
  sliceSegments,
  totalLength,
  weaveSegments,
  withCopies,
} from "../segments.js";
import { undoAt } from "../undo.js";
import type { SideLog, SideLogs, Unplaced } from "./side-logs.js";

/** Receives the positions that the messages will have, and returns the answer to the caller. May refuse by throwing. */
export type Answer<T> = (positions: readonly number[]) => T;

/** The messages that are inserted, and what their caller wants to learn. */
export interface Insertion<T> {
  /** Sorted by timestamp. */
  readonly messages: readonly Unplaced[];
  /** Whether the edit is an append to callers, so that the revision that they see does not change. */
  readonly isAppend: boolean;
  readonly answer: Answer<T>;
  /**
   * The answer when the session has changed since the messages were chosen. Null: other messages would be chosen now.
   */
  readonly answerOn: (now: Head) => Promise<Answer<T> | null>;
}

/** A list of messages, and for each message that is inserted the number of messages of the list before it. */
interface Cuts {
  readonly visible: readonly Segment[];
  readonly cuts: readonly number[];
}

/**
 * A history with at most this many messages for each inserted one is read as a whole, which is faster than a search.
 */
const MAX_READ = 8;

/** Stands for the log of the inserted messages before they are written: the i-th message is its entry i + 1. */
const UNPLACED = "";

/** Puts messages that are not the newest where their timestamps belong, and merges segments when there are too many. */
export class Inserter {
  readonly #context: HistoryContext;
  readonly #sideLogs: SideLogs;

  constructor(context: HistoryContext, sideLogs: SideLogs) {
    this.#context = context;
    this.#sideLogs = sideLogs;
  }

  /**
   * Inserts messages into the history of a head, each after all visible ones with the same or an earlier timestamp.
   * Null when the session has changed so that other messages would be inserted: then load the head and call again.
   */
  async insert<T>(head: Head, insertion: Insertion<T>, call?: Call): Promise<{ readonly answer: T } | null> {
    const cuts = await this.#cuts(head, insertion.messages, null, call);
    // The caller may refuse the positions, before anything is written.
    if (cuts !== null) insertion.answer(positionsOf(cuts));
    return this.#sideLogs.using(head.record, call, (side) => this.#insertThrough(side, head, insertion, cuts, call));
  }

  /**
   * Inserts messages into the history of a head as {@link Inserter.insert} does, through a side log that the record
   * names already. For messages that may only be read after that.
   */
  async insertThrough<T>(
    side: SideLog,
    head: Head,
    insertion: Insertion<T>,
    call?: Call,
  ): Promise<{ readonly answer: T } | null> {
    return this.#insertThrough(side, head, insertion, await this.#cuts(head, insertion.messages, null, call), call);
  }

  async #insertThrough<T>(
    side: SideLog,
    planned: Head,
    { messages, isAppend, answer, answerOn }: Insertion<T>,
    found: Cuts | null,
    call: Call | undefined,
  ): Promise<{ readonly answer: T } | null> {
    const { maxSegments } = this.#context.options;
    // Others may insert messages while a copy is made, which makes further segments.
    let most = maxSegments + (maxSegments >> 2);
    let head = planned;
    let at = found;
    let originals: readonly Segment[] = [{ log: UNPLACED, first: 1, last: messages.length }];
    const pieces = at && weaveSegments(at.visible, at.cuts, UNPLACED).length;
    if (at && pieces !== null && (pieces <= maxSegments || at.visible.length < 2)) {
      most = Math.max(most, pieces);
      if (!(await this.#sideLogs.append(side, head, 0, messages, call))) return null;
    } else if (at && 4 * new Set(at.cuts).size <= maxSegments) {
      await this.merge(head, call);
      return null;
    } else {
      const now = await this.#sideLogs.waitForEarlier(side, call);
      if (!now) return null;
      head = now;
      at = await this.#copyAll(side, head, messages, call);
      if (!at) return null;
      originals = weaveSegments(at.visible, at.cuts, UNPLACED);
    }
    const segmentsOf = ({ visible, cuts }: Cuts) =>
      withCopies(weaveSegments(visible, cuts, UNPLACED), originals, side.log);
    // Computed before the commit, which fails whenever the record changes while it is planned.
    let known = { at, segments: segmentsOf(at) };
    return this.#sideLogs.commit(
      head,
      side,
      async (now) => {
        // The naming of the log is the only change.
        const isUnchanged = now.record.revision === planned.record.revision + 1 && now.seq === planned.seq;
        const answerNow = isUnchanged ? answer : await answerOn(now);
        const cuts = answerNow && (await this.#cuts(now, messages, known.at, call));
        if (!answerNow || !cuts) return null;
        if (cuts !== known.at) known = { at: cuts, segments: segmentsOf(cuts) };
        if (known.segments.length > most) return null;
        const change = {
          segments: known.segments,
          lastTimestampMicros: lastOf(now, messages),
          undo: null,
          kept: cuts.cuts[0] ?? now.count,
          isAppend,
          added: messages.map(({ id }) => id),
        };
        return { answer: { answer: answerNow(positionsOf(cuts)) }, change };
      },
      call,
    );
  }

  /** Copies a run of neighbouring segments with few messages into one fresh log. Others may go on writing meanwhile. */
  async merge(head: Head, call?: Call): Promise<void> {
    const { options } = this.#context;
    const visible = visibleSegments(head);
    const { from, size } = runToMerge(visible, options.mergeSegments, options.mergeMessages);
    const run = visible.slice(from, from + size);
    await this.#sideLogs.using(head.record, call, async (side) => {
      let written = 0;
      for await (const chunk of readTogether(this.#context, run, call)) {
        if (!(await this.#sideLogs.append(side, head, written, chunk, call))) return null;
        written += chunk.length;
      }
      return this.#sideLogs.commit(
        head,
        side,
        async (now) => {
          const before = visibleSegments(now);
          const segments = withCopies(before, run, side.log);
          // Somebody else has merged or cut them meanwhile.
          if (segments.length >= before.length) return null;
          const { lastTimestampMicros } = now;
          return {
            answer: true,
            change: { segments, lastTimestampMicros, undo: undoAt(now.record, now.seq), kept: null },
          };
        },
        call,
      );
    });
  }

  /**
   * Copies the whole history, with the messages merged in, into the side log. Used when inserting the messages would
   * splinter the history too much. Null when the log has lost its name.
   */
  async #copyAll(side: SideLog, head: Head, messages: readonly Unplaced[], call?: Call): Promise<Cuts | null> {
    const visible = visibleSegments(head);
    const cuts: number[] = [];
    let copied = 0;
    for await (const chunk of readTogether(this.#context, visible, call)) {
      const merged: Unplaced[] = [];
      const written = copied + cuts.length;
      for (const entry of chunk) {
        for (let next = messages[cuts.length]; next && next.timestampMicros < entry.timestampMicros; ) {
          cuts.push(copied);
          merged.push(next);
          next = messages[cuts.length];
        }
        merged.push(entry);
        copied++;
      }
      if (!(await this.#sideLogs.append(side, head, written, merged, call))) return null;
    }
    const newest = messages.slice(cuts.length);
    const isStored = await this.#sideLogs.append(side, head, copied + cuts.length, newest, call);
    return isStored ? { visible, cuts: [...cuts, ...newest.map(() => copied)] } : null;
  }

  /**
   * For each message, the number of visible messages that stay before it. `before` is the result for an earlier head: a
   * message whose neighbours of then are still neighbours need not be looked for. Null when the messages belong between
   * so many different ones that a copy is cheaper.
   */
  async #cuts(
    head: Head,
    messages: readonly Unplaced[],
    before: Cuts | null,
    call: Call | undefined,
  ): Promise<Cuts | null> {
    const visible = visibleSegments(head);
    if (before && isSameList(before.visible, visible)) return before;
    const most = Math.max(this.#context.options.maxSegments >> 1, 1);
    if (head.count <= Math.min(MAX_READ * messages.length, this.#context.options.chunk)) {
      const times = (await readSegments(this.#context, visible, call)).map(({ timestampMicros }) => timestampMicros);
      const cuts = cutsBetween(times, messages);
      // When there is an earlier result, the messages are written already, and need no copy however far apart they are.
      const isSplit = before === null && new Set(cuts.filter((cut) => cut < head.count)).size > most;
      return isSplit ? null : { visible, cuts };
    }
    const cuts: number[] = [];
    let cut = 0;
    let nextMicros = Number.NEGATIVE_INFINITY;
    let different = 0;
    for (const [i, { timestampMicros }] of messages.entries()) {
      const [low, high] = before ? boundsOf(before, i, visible) : [0, head.count];
      if (timestampMicros >= endMicros(head)) {
        cut = head.count;
      } else if (low === high) {
        cut = low;
        nextMicros = Number.NEGATIVE_INFINITY;
      } else if (timestampMicros >= nextMicros) {
        if (++different > most) return null;
        const between = sliceSegments(visible, low, high);
        cut = low + (await countBefore(this.#context, between, timestampMicros + 1, call));
        nextMicros = (await entryAt(this.#context, visible, cut, call)).timestampMicros;
      }
      cuts.push(cut);
    }
    return { visible, cuts };
  }
}

/** Between which positions of a list a message belongs, given its neighbours in an earlier list. */
function boundsOf(before: Cuts, i: number, visible: readonly Segment[]): readonly [number, number] {
  const cut = before.cuts[i] as number;
  const end = totalLength(visible);
  const positionIn = (position: number) => {
    const { log, seq } = placeAt(before.visible, position);
    return positionOf(visible, log, seq);
  };
  const previous = cut === 0 ? -1 : positionIn(cut - 1);
  const next = cut === totalLength(before.visible) ? end : positionIn(cut);
  return [previous + 1, next < 0 ? end : next];
}

/** The number of times, in ascending order, that are not after each message. */
function cutsBetween(times: readonly number[], messages: readonly Unplaced[]): number[] {
  let cut = 0;
  return messages.map(({ timestampMicros }) => {
    while (cut < times.length && (times[cut] as number) <= timestampMicros) cut++;
    return cut;
  });
}

function positionsOf({ cuts }: Cuts): readonly number[] {
  return cuts.map((cut, i) => cut + i);
}

/**
 * The timestamp that the last message of the history will have once these messages, which are sorted by timestamp, are
 * inserted.
 */
function lastOf(head: Head, messages: readonly Unplaced[]): number | null {
  const last = messages.at(-1);
  return last ? Math.max(endMicros(head), last.timestampMicros) : head.lastTimestampMicros;
}
