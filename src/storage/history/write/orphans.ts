import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";

/**
 * Called after a slow write: deletes what was written when no record has this uid any more, because no sweep would ever
 * find it.
 */
export async function clearIfOrphaned(
  context: HistoryContext,
  sinceMs: number,
  uid: string,
  call?: Call,
): Promise<void> {
  if (!context.isOld(sinceMs)) return;
  const { options, store } = context;
  if (await store.readRecordByUid(uid, call)) return;
  // Rule: orphans-deleted.
  while (await store.deleteEntries({ uid }, options.chunk, call));
}
