import type { Call } from "../../../domain/call.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry, Segment } from "../log-store.js";
import { Again, MissingRows } from "../retries.js";
import { logsOf, positionOf, segmentLength, sliceSegments, stretchesOf, totalLength } from "../segments.js";

/** How many unneeded entries between two segments of a log are read along with them. */
const MAX_UNNEEDED = 16;

export interface Located {
  readonly entry: Entry;
  readonly position: number;
}

/** Finds the visible entries with these ids. Asks the store for a limited number of ids at a time. */
export function locate(
  context: HistoryContext,
  segments: readonly Segment[],
  ids: readonly string[],
  call?: Call,
): Promise<Map<string, Located>> {
  return locateIn(context, logsOf(segments), segments, ids, () => {}, call);
}

/**
 * Finds the visible entries of a head with these ids. Throws `Again` when the open log holds one of the ids after the
 * head's end, because the head is out of date then.
 */
export function locateOnHead(
  context: HistoryContext,
  head: Head,
  ids: readonly string[],
  call?: Call,
): Promise<Map<string, Located>> {
  const { log } = head.record;
  const segments = visibleSegments(head);
  const logs = [...new Set([...logsOf(segments), log])];
  const checkEnd = (entry: Entry) => {
    if (entry.log === log && entry.seq > head.seq && head.state === "open") throw new Again();
  };
  return locateIn(context, logs, segments, ids, checkEnd, call);
}

async function locateIn(
  context: HistoryContext,
  logs: readonly string[],
  segments: readonly Segment[],
  ids: readonly string[],
  check: (entry: Entry) => void,
  call?: Call,
): Promise<Map<string, Located>> {
  const located = new Map<string, Located>();
  if (logs.length === 0) return located;
  for (let i = 0; i < ids.length; i += context.options.chunk) {
    const entries = await context.store.findById(logs, ids.slice(i, i + context.options.chunk), call);
    for (const entry of entries) {
      check(entry);
      const position = positionOf(segments, entry.log, entry.seq);
      if (position >= 0) located.set(entry.id, { entry, position });
    }
  }
  return located;
}

/**
 * All entries of closed segments. Throws `Again` when one is missing, because it was swept after the record was read.
 */
export async function readSegments(
  context: HistoryContext,
  segments: readonly Segment[],
  call?: Call,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const chunk of readTogether(context, segments, call)) entries.push(...chunk);
  return entries;
}

/** Entries of closed segments, in chunks. Throws `Again` when one is missing. */
export async function* readInChunks(
  context: HistoryContext,
  segments: readonly Segment[],
  call?: Call,
): AsyncGenerator<readonly Entry[]> {
  const { chunk: limit, limits } = context.options;
  for (const { log, first, last } of segments) {
    for (let seq = first; seq <= last; ) {
      const { entries } = await context.store.readRange(log, seq, last, { limit, maxBytes: limits.batchBytes }, call);
      if (entries[0]?.seq !== seq) throw missing(log, seq);
      yield entries;
      seq += entries.length;
    }
  }
}

/**
 * Entries of closed segments, in chunks. Reads short segments together, one stretch of a log at a time, so that a
 * history of many segments takes few reads, and a copy of it few writes. Throws `Again` when an entry is missing.
 */
export async function* readTogether(
  context: HistoryContext,
  segments: readonly Segment[],
  call?: Call,
): AsyncGenerator<readonly Entry[]> {
  let next = 0;
  while (next < segments.length) {
    const from = next++;
    for (let length = segmentLength(segments[from] as Segment); next < segments.length; next++) {
      length += segmentLength(segments[next] as Segment);
      if (length > context.options.chunk) break;
    }
    const some = segments.slice(from, next);
    const together = some.length > 1 ? await readStretches(context, some, call) : null;
    if (together) yield together;
    else yield* readInChunks(context, some, call);
  }
}

/** The entries of segments; null when one is missing or they hold too many bytes, and each must be read by itself. */
async function readStretches(
  context: HistoryContext,
  segments: readonly Segment[],
  call: Call | undefined,
): Promise<readonly Entry[] | null> {
  const found = new Map<string, Map<number, Entry>>();
  let leftBytes = context.options.limits.batchBytes;
  for (const { log, first, last } of stretchesOf(segments, MAX_UNNEEDED)) {
    const { entries, cut } = await context.store.readRange(log, first, last, { maxBytes: leftBytes }, call);
    leftBytes -= entries.reduce((sum, { body: { sizes } }) => sum + sizes.parts + sizes.metadata + sizes.usage, 0);
    if (cut || leftBytes <= 0) return null;
    const known = found.get(log) ?? new Map<number, Entry>();
    found.set(log, known);
    for (const entry of entries) known.set(entry.seq, entry);
  }
  const all: Entry[] = [];
  for (const { log, first, last } of segments) {
    for (let seq = first; seq <= last; seq++) {
      const entry = found.get(log)?.get(seq);
      if (!entry) return null;
      all.push(entry);
    }
  }
  return all;
}

/**
 * How many messages of a list are earlier than a time. Bisects the segments by their first messages, then asks the
 * store for the place within one segment.
 */
export async function countBefore(
  context: HistoryContext,
  segments: readonly Segment[],
  micros: number,
  call?: Call,
): Promise<number> {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const { log, first } = segments[middle] as Segment;
    const [entry] = (await context.store.readRange(log, first, first, {}, call)).entries;
    if (!entry) throw missing(log, first);
    if (entry.timestampMicros < micros) low = middle;
    else high = middle - 1;
  }
  const segment = segments[low];
  if (!segment) return 0;
  const before = totalLength(segments.slice(0, low));
  const seq = await context.store.seqAtTime(segment.log, segment.first, segment.last, micros, call);
  if (seq === null)
    throw new MissingRows(`entries ${segment.first} to ${segment.last} of log ${segment.log} are missing in part`);
  return before + seq - segment.first;
}

/** The entry at a position of a list. Throws `Again` when it is missing. */
export async function entryAt(
  context: HistoryContext,
  segments: readonly Segment[],
  position: number,
  call?: Call,
): Promise<Entry> {
  const [segment] = sliceSegments(segments, position, position + 1);
  if (!segment) throw new Again();
  const { entries } = await context.store.readRange(segment.log, segment.first, segment.first, {}, call);
  if (!entries[0]) throw missing(segment.log, segment.first);
  return entries[0];
}

/** The error to throw when a row that a record names does not exist. */
export function missing(log: string, seq: number): MissingRows {
  return new MissingRows(`entry ${seq} of log ${log} is missing`);
}
