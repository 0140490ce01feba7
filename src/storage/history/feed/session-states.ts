import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { FeedChange, SessionRecord } from "../log-store.js";
import { totalLength } from "../segments.js";
import type { SessionState, ToldChange } from "./told-change.js";

/** The states of sessions as they were at one moment each, some time after their records were read. */
async function statesOf(
  { store }: HistoryContext,
  records: readonly SessionRecord[],
  call?: Call,
): Promise<readonly SessionState[]> {
  if (records.length === 0) return [];
  const ends = await store.readLast(
    records.map(({ log }) => log),
    call,
  );
  return records.map((record, i) => {
    const { sessionId, sessionRevision: revision, updateTimeMicros } = record;
    const messageCount = totalLength(record.segments) + (ends[i]?.seq ?? 0);
    return { record, session: { sessionId, revision, messageCount, updateTimeMicros } };
  });
}

/** The present states of the sessions with these uids that have not been deleted and have not expired. */
export async function livingStates(
  context: HistoryContext,
  uids: readonly string[],
  call?: Call,
): Promise<ReadonlyMap<string, SessionState>> {
  const records = await Promise.all(uids.map((uid) => context.store.readRecordByUid(uid, call)));
  const living = records.filter((record) => record !== null && !record.deleted && !context.isExpired(record));
  const states = await statesOf(context, living as SessionRecord[], call);
  return new Map(states.map((state) => [state.record.uid, state]));
}

/**
 * Adds to changes what is told of them. A session that has expired is left out: it is about to be deleted. After a
 * deleted session, the one that has its id now is told, which may have got its place before.
 */
export async function toldChanges(
  context: HistoryContext,
  changes: readonly FeedChange[],
  call?: Call,
): Promise<readonly ToldChange[]> {
  const records = changes.flatMap((change) => (change.kind === "state" ? [change.record] : []));
  const states = await statesOf(context, records, call);
  const stateOf = new Map(states.map((state) => [state.record.uid, state]));
  const left = changes.flatMap((change) => (change.kind === "left" ? [change.uid] : []));
  const present = await livingStates(context, [...new Set(left)], call);
  const deleted = changes.flatMap((change) => (change.kind === "deleted" ? [change.sessionId] : []));
  const successors = await successorStates(context, [...new Set(deleted)], call);
  const placeOf = new Map(changes.flatMap((one) => (one.kind === "state" ? [[one.record.uid, one.place]] : [])));
  return changes.flatMap((change): ToldChange[] => {
    if (change.kind === "deleted") {
      const { place } = change;
      const told = { ...change, now: null };
      const now = successors.get(change.sessionId);
      // Rule: successor-told-after.
      const isTold = now === undefined || (placeOf.get(now.record.uid) ?? 0) > place;
      return isTold ? [told] : [told, { kind: "state", place, madeAt: place, now }];
    }
    if (change.kind !== "state") return [{ ...change, now: present.get(change.uid) ?? null }];
    if (context.isExpired(change.record)) return [];
    const { record, ...state } = change;
    return [{ ...state, now: stateOf.get(record.uid) as SessionState }];
  });
}

/** The present states of the living sessions with these ids. */
async function successorStates(
  context: HistoryContext,
  sessionIds: readonly string[],
  call?: Call,
): Promise<ReadonlyMap<string, SessionState>> {
  const records = await Promise.all(sessionIds.map((id) => context.store.readRecord(id, call)));
  const living = records.filter((record) => record !== null && !context.isExpired(record));
  const states = await statesOf(context, living as SessionRecord[], call);
  return new Map(states.map((state) => [state.session.sessionId, state]));
}
