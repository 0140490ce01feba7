import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { Segment } from "../log-store.js";
import { namesLog } from "../record-facts.js";

/**
 * Must be called after a write. If the write was slow and no record has this uid any more, deletes what was written,
 * because no sweep would ever find it. `besideOpen`: the range that was written to a log beside the open one. It is
 * also deleted when the record no longer names that log, because the sweep may already have cleared the log away.
 */
export async function clearIfOrphaned(
  context: HistoryContext,
  sinceMs: number,
  uid: string,
  call?: Call,
  besideOpen?: Segment,
): Promise<void> {
  if (!context.isOld(sinceMs)) return;
  const { options, store } = context;
  const record = await store.readRecordByUid(uid, call);
  const isLost = record !== null && besideOpen !== undefined && !namesLog(record, besideOpen.log);
  // Rule: orphans-deleted.
  const lost = record === null ? { uid } : isLost && besideOpen;
  if (record !== null && isLost && context.counts.counts(record)) {
    context.quotas.note(record, -(await store.entryBytes([besideOpen], call)));
  }
  while (lost && (await store.deleteEntries(lost, options.chunk, call)));
}
