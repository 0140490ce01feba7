import { RangeMap, type RangePart } from "../../domain/range-map.js";
import type { AncestrySegment, Segment, SessionRecord } from "./log-store.js";
import { ownerOf } from "./record-facts.js";

/** Means "as far as the log goes"; no log is that long. */
export const OPEN_END = Number.MAX_SAFE_INTEGER;

export function segmentLength(segment: Segment): number {
  return segment.last - segment.first + 1;
}

export function totalLength(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + segmentLength(segment), 0);
}

/** Concatenates lists. Empty segments are dropped, and neighbours that continue each other are joined. */
export function joinSegments(...lists: readonly (readonly Segment[])[]): Segment[] {
  const joined: Segment[] = [];
  for (const { log, first, last } of lists.flat()) {
    if (last < first) continue;
    const previous = joined.at(-1);
    if (previous?.log === log && previous.last + 1 === first) {
      joined[joined.length - 1] = { log, first: previous.first, last };
    } else {
      joined.push({ log, first, last });
    }
  }
  return joined;
}

/** The segments at positions `from` to `to - 1`. */
export function sliceSegments<S extends Segment>(segments: readonly S[], from: number, to: number = OPEN_END): S[] {
  const slices: S[] = [];
  let position = 0;
  for (const segment of segments) {
    const start = Math.max(from - position, 0);
    const end = Math.min(to - position, segmentLength(segment));
    if (start < end) slices.push({ ...segment, first: segment.first + start, last: segment.first + end - 1 });
    position += segmentLength(segment);
  }
  return slices;
}

/** Inserts single entries into segments: the i-th one, at place 1 + i of a log, after the first `cuts[i]` messages. */
export function weaveSegments(visible: readonly Segment[], cuts: readonly number[], log: string): Segment[] {
  const woven: Segment[] = [];
  let from = 0;
  for (const [i, cut] of cuts.entries()) {
    woven.push(...sliceSegments(visible, from, cut), { log, first: i + 1, last: i + 1 });
    from = cut;
  }
  return joinSegments(woven, sliceSegments(visible, from));
}

/** The segments with copies instead of originals. The originals were copied to the log in order, from place 1 on. */
export function withCopies(segments: readonly Segment[], originals: readonly Segment[], log: string): Segment[] {
  const places = new Map<string, RangeMap<number>>();
  let next = 1;
  for (const original of originals) {
    const known = places.get(original.log) ?? new RangeMap<number>();
    places.set(original.log, known);
    known.add(original.first, original.last, next);
    next += segmentLength(original);
  }
  const replaced = segments.flatMap((segment): Segment[] => {
    const parts = places.get(segment.log)?.parts(segment.first, segment.last) ?? [segment];
    return parts.map(({ first, last, known }: RangePart<number>) => {
      if (!known) return { log: segment.log, first, last };
      const start = known.value + known.offset;
      return { log, first: start, last: start + last - first };
    });
  });
  return joinSegments(replaced);
}

export function isSameList(a: readonly Segment[], b: readonly Segment[]): boolean {
  const isSame = (one: Segment, other: Segment | undefined) =>
    one.log === other?.log && one.first === other.first && one.last === other.last;
  return a.length === b.length && a.every((segment, i) => isSame(segment, b[i]));
}

/** What a list names and another one does not. */
export function segmentsWithout(segments: readonly Segment[], others: readonly Segment[]): Segment[] {
  let left = [...segments];
  for (const other of others) left = left.flatMap((segment) => subtract(segment, other));
  return left;
}

/** The place of a message of a list, given by its position. */
export function placeAt(
  segments: readonly Segment[],
  position: number,
): { readonly log: string; readonly seq: number } {
  const [segment] = sliceSegments(segments, position, position + 1);
  if (!segment) throw new RangeError(`A list of ${totalLength(segments)} messages has no position ${position}`);
  return { log: segment.log, seq: segment.first };
}

/** Neighbouring segments of a list: `size` of them, beginning at index `from`. */
export interface Run {
  readonly from: number;
  readonly size: number;
}

/**
 * Chooses the neighbours to merge: the run of `most` segments that holds the fewest messages. If it holds more than
 * `budget`, a run of half as many segments is chosen instead, and so on, down to three. An edit of one message adds up
 * to two segments, so merging three into one makes room for it.
 */
export function runToMerge(segments: readonly Segment[], most: number, budget: number): Run {
  let size = Math.max(2, Math.min(most, segments.length));
  for (;;) {
    const from = smallestRun(segments, size);
    if (size <= 3 || totalLength(segments.slice(from, from + size)) <= budget) return { from, size };
    size = Math.max(3, size >> 1);
  }
}

/** The index at which the run of `size` neighbours with the fewest messages begins. */
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

/** The position of an entry, or -1. */
export function positionOf(segments: readonly Segment[], log: string, seq: number): number {
  let position = 0;
  for (const segment of segments) {
    if (segment.log === log && segment.first <= seq && seq <= segment.last) return position + seq - segment.first;
    position += segmentLength(segment);
  }
  return -1;
}

/** Ranges of logs that cover all segments and, between two of them, at most `unneeded` other entries. */
export function stretchesOf(segments: readonly Segment[], unneeded: number): Segment[] {
  const stretches: Segment[] = [];
  for (const { log, first, last } of segments.toSorted((a, b) => compareLogs(a.log, b.log) || a.first - b.first)) {
    const previous = stretches.at(-1);
    if (previous?.log === log && first <= previous.last + 1 + unneeded) {
      stretches[stretches.length - 1] = { log, first: previous.first, last: Math.max(previous.last, last) };
    } else {
      stretches.push({ log, first, last });
    }
  }
  return stretches;
}

/** The distinct logs of a list, in its order. */
export function logsOf(segments: readonly Segment[]): string[] {
  return [...new Set(segments.map((segment) => segment.log))];
}

/** Splits a list of ancestors' segments into one group for each session that shows them. */
export function ancestryGroups(ancestry: readonly AncestrySegment[]): AncestrySegment[][] {
  const groups: AncestrySegment[][] = [];
  for (const segment of ancestry) {
    const group = groups.at(-1);
    if (group?.[0]?.sessionId === segment.sessionId) group.push(segment);
    else groups.push([segment]);
  }
  return groups;
}

type History = Pick<SessionRecord, "segments" | "ancestry" | "undo">;
type Named = History & Pick<SessionRecord, "annotations">;

/** Everything that a record names, except its open log. */
export function namedSegments(record: Named): readonly Segment[] {
  return [...namedMessages(record), ...(record.annotations ?? [])];
}

/** The messages that a record names, except those of its open log. */
export function namedMessages(record: History): readonly Segment[] {
  return [...record.segments, ...record.ancestry, ...(record.undo?.segments ?? [])];
}

type Writable = Pick<SessionRecord, "log" | "namedLogs" | "drafts">;

/**
 * The ranges of the session's own logs that `before` names and `after` does not. A log that entries may be appended to
 * counts as a whole, and so does the log of a draft.
 */
export function droppedRanges(
  before: Named & Writable & Pick<SessionRecord, "uid">,
  after: Named & Writable,
): Segment[] {
  return unnamedBy(
    after,
    intervals(before).filter((segment) => ownerOf(segment.log) === before.uid),
  );
}

/** All ranges in which entries of the session's own logs may be stored, as far as its record knows. */
export function ownRanges(record: Named & Writable & Pick<SessionRecord, "uid" | "dropped">): Segment[] {
  const own = [...intervals(record), ...record.dropped].filter((range) => ownerOf(range.log) === record.uid);
  return stretchesOf(own, 0);
}

/** What a record does not name of these ranges. A log that entries may be appended to counts as a whole. */
export function unnamedBy(record: Named & Writable, ranges: readonly Segment[]): Segment[] {
  return segmentsWithout(ranges, intervals(record));
}

function intervals(record: Named & Writable): Segment[] {
  const writable = [record.log, ...[...record.namedLogs, ...record.drafts].map(({ log }) => log)];
  return stretchesOf([...namedSegments(record), ...writable.map((log) => ({ log, first: 1, last: OPEN_END }))], 0);
}

function compareLogs(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function subtract(segment: Segment, kept: Segment): Segment[] {
  if (kept.log !== segment.log || kept.last < segment.first || kept.first > segment.last) return [segment];
  return [
    { log: segment.log, first: segment.first, last: kept.first - 1 },
    { log: segment.log, first: kept.last + 1, last: segment.last },
  ].filter((rest) => rest.first <= rest.last);
}
