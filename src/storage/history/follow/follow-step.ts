import type { ChatMessage } from "../../../domain/chat-message.js";
import type { FollowEvent, FollowPosition } from "../../../domain/page.js";
import type { EditMark, SessionRecord } from "../log-store.js";

/** What edits have done to the messages before a follower's position, and its position after the event that says so. */
export type FollowStep = { readonly position: number } & (
  | { readonly kind: "unchanged" }
  | { readonly kind: "truncated" }
  | { readonly kind: "updated"; readonly index: number }
  | { readonly kind: "deleted"; readonly index: number; readonly messageId: string }
);

/**
 * What a follower at a position has to learn before it gets further messages; the history now has `end` messages. A
 * single edit of a single message is an event of its own. Otherwise the follower learns how many messages every edit
 * left alone, which is 0 when the record no longer remembers all edits since. Rollovers, merges of segments and changes
 * of the title are not edits in this sense.
 */
export function stepOf(record: SessionRecord, at: FollowPosition, end: number, maxEdits: number): FollowStep {
  const since = editsSince(record, at, maxEdits);
  const kept = since ? Math.min(Number.POSITIVE_INFINITY, ...since.map((edit) => edit.kept)) : 0;
  // Rule: one-edit-one-event. After the event, the follower again holds the front of a history that existed.
  const single = since?.length === 1 && kept < at.position ? since[0]?.single : undefined;
  if (single?.kind === "updated" && at.position <= end) return { kind: "updated", index: kept, position: at.position };
  if (single?.kind === "deleted" && at.position - 1 <= end) {
    return { kind: "deleted", index: kept, messageId: single.messageId, position: at.position - 1 };
  }
  const position = Math.min(kept, at.position, end);
  return { kind: position < at.position ? "truncated" : "unchanged", position };
}

/** The event for a step; null when nothing has changed. */
export async function eventOf(
  step: FollowStep,
  at: Omit<FollowPosition, "position">,
  messageAt: (index: number) => Promise<ChatMessage>,
): Promise<FollowEvent | null> {
  const after = { ...at, position: step.position };
  switch (step.kind) {
    case "unchanged":
      return null;
    case "truncated":
      return { kind: "truncated", messageCount: step.position, at: after };
    case "updated":
      return { kind: "updated", message: await messageAt(step.index), at: after };
    case "deleted":
      return { kind: "deleted", messageId: step.messageId, position: step.index, at: after };
  }
}

/** The edits since a follower last looked; null when the record may have forgotten some. */
function editsSince(
  { edits }: SessionRecord,
  { revision }: FollowPosition,
  maxEdits: number,
): readonly EditMark[] | null {
  const oldest = edits[0];
  const remembersAll = edits.length < maxEdits || (oldest !== undefined && revision >= oldest.revision - 1);
  return remembersAll ? edits.filter((edit) => edit.revision > revision) : null;
}
