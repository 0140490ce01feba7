import { type Head, visibleSegments } from "./heads.js";
import type { SessionRecord } from "./log-store.js";

/**
 * A revert keeps the messages as they were before it, and an unrevert puts them back. Reverts in a row are undone
 * together. After an append, or any other edit of the messages, there is nothing to unrevert. A rollover or a merge of
 * segments changes no message, and keeps what can be unreverted.
 */
export type Undo = NonNullable<SessionRecord["undo"]>;

/**
 * What an unrevert would put back after `seq` messages have been appended to the open log; null when there is nothing.
 */
export function undoAt(record: Pick<SessionRecord, "undo">, seq: number): Undo | null {
  // Rule: append-clears-undo. The open log of a reverted session is fresh, so any message in it came after the revert.
  return seq > 0 ? null : record.undo;
}

/** The undo to store with a revert, which is that of the first revert in a row. */
export function undoOfRevert(head: Head): Undo {
  const before = { segments: visibleSegments(head), lastTimestampMicros: head.lastTimestampMicros ?? 0 };
  return undoAt(head.record, head.seq) ?? before;
}
