import type { FollowPosition } from "../../../domain/page.js";
import type { SessionRecord } from "../log-store.js";

/**
 * How many of the messages in front of a follower still stand: the least that any edit since left. 0 when the record no
 * longer remembers all edits since; then the follower is told everything again. Rollovers, merges of segments and
 * changes of the title are no such edits.
 */
export function standingMessages(record: SessionRecord, at: FollowPosition, maxEdits: number): number {
  const oldest = record.edits[0];
  const remembersAll = record.edits.length < maxEdits || (oldest !== undefined && at.revision >= oldest.revision - 1);
  if (!remembersAll) return 0;
  const since = record.edits.filter(({ revision }) => revision > at.revision);
  return Math.min(at.position, ...since.map(({ kept }) => kept));
}
