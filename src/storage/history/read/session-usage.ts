import type { Call } from "../../../domain/call.js";
import type { Session } from "../../../domain/session.js";
import { minusUsage, NO_USAGE, plusUsage, sumsOf, type UsageSums } from "../../../domain/usage.js";
import type { HistoryContext } from "../heads.js";
import type { LogStore, Segment, SessionRecord, UsageEnds } from "../log-store.js";
import { joinSegments } from "../segments.js";

/** A session's record, and how far its open log is shown. */
export interface ShownSession {
  readonly record: SessionRecord;
  readonly seq: number;
}

/** Empty when no message that is shown has usage. */
export type SessionUsage = Pick<Session, "usage" | "inheritedUsage">;

/** How many ranges one call to the store asks for. */
const RANGES_AT_ONCE = 1000;
/** How many entries are added up at once. */
const ROWS_AT_ONCE = 1000;

/** The sums of a range: over all of it, and over what was first written to one session. */
interface RangeSums {
  readonly all: UsageSums;
  readonly own: UsageSums;
}

/**
 * The sums of usage over what sessions show. Each range of a log is the difference of the sums at its ends, so a long
 * one costs what a short one does.
 */
export async function usageOf(
  { store }: HistoryContext,
  sessions: readonly ShownSession[],
  call?: Call,
): Promise<readonly SessionUsage[]> {
  const ranges = sessions.map(({ record, seq }) =>
    joinSegments(record.segments, [{ log: record.log, first: 1, last: seq }]),
  );
  const ends = await endsOf(store, ranges.flat(), call);
  const sums: SessionUsage[] = [];
  let next = 0;
  for (const [i, { record }] of sessions.entries()) {
    let all = NO_USAGE;
    let own = NO_USAGE;
    for (const range of ranges[i] ?? []) {
      const found = ends[next++];
      if (!found) continue;
      const part = await sumsOfRange(store, range, found, record.sessionId, call);
      all = plusUsage(all, part.all);
      own = plusUsage(own, part.own);
    }
    sums.push(all.calls === 0 ? {} : { usage: own, inheritedUsage: minusUsage(all, own) });
  }
  return sums;
}

async function endsOf(
  store: LogStore,
  ranges: readonly Segment[],
  call?: Call,
): Promise<readonly (UsageEnds | null)[]> {
  if (ranges.length <= RANGES_AT_ONCE) return ranges.length === 0 ? [] : store.readUsageEnds(ranges, call);
  const ends: (UsageEnds | null)[] = [];
  for (let i = 0; i < ranges.length; i += RANGES_AT_ONCE) {
    ends.push(...(await store.readUsageEnds(ranges.slice(i, i + RANGES_AT_ONCE), call)));
  }
  return ends;
}

async function sumsOfRange(
  store: LogStore,
  range: Segment,
  { sessionId: owner, first, last }: UsageEnds,
  sessionId: string,
  call?: Call,
): Promise<RangeSums> {
  const one = sumsOf(first.usage);
  // The entry before the first one may be gone, so the sums before the range are those up to its first entry without
  // that entry.
  const between = (from: UsageSums, to: UsageSums, isPart: boolean): UsageSums => {
    const after = minusUsage(to, from);
    return isPart ? plusUsage(after, one) : after;
  };
  const all = between(first.sums.all, last.all, true);
  const isFirst = first.originSessionId === sessionId;
  const isAllOwn = owner === sessionId && last.own.calls === last.all.calls;
  if (isAllOwn) return { all, own: all };
  if (owner === sessionId) return { all, own: between(first.sums.own, last.own, isFirst) };
  const own = last.foreign.get(sessionId);
  if (own !== undefined) {
    return { all, own: between(first.sums.foreign.get(sessionId) ?? NO_USAGE, own, isFirst) };
  }
  return { all, own: last.more ? await addedUp(store, range, sessionId, call) : NO_USAGE };
}

/** Adds up the entries of a range one by one. Only for a session whose sums the entries do not hold apart. */
async function addedUp(store: LogStore, range: Segment, sessionId: string, call?: Call): Promise<UsageSums> {
  let own = NO_USAGE;
  for (let left: readonly Segment[] = [range]; left.length > 0; ) {
    const { rows, rest } = await store.readUsage(left, ROWS_AT_ONCE, call);
    for (const { originSessionId, usage } of rows) {
      if (originSessionId === sessionId) own = plusUsage(own, sumsOf(usage));
    }
    left = rest;
  }
  return own;
}
