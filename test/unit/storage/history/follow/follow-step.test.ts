import { describe, expect, it } from "vitest";
import { type FollowStep, stepOf } from "../../../../../src/storage/history/follow/follow-step.js";
import type { EditMark, SessionRecord, SingleEdit } from "../../../../../src/storage/history/log-store.js";

const MOST_EDITS = 3;

/** The step of a follower that has seen ten messages of the session at this revision. */
function step(revision: number, edits: readonly EditMark[], end = 20): FollowStep {
  return stepOf({ edits } as SessionRecord, { sessionUid: "a", revision, position: 10 }, end, MOST_EDITS);
}

const edit = (revision: number, kept: number, single?: SingleEdit): EditMark => ({ revision, kept, single });
const stands = { kind: "unchanged", position: 10 };
const truncated = (position: number) => ({ kind: "truncated", position });
const UPDATED = { kind: "updated" } as const;
const DELETED = { kind: "deleted", messageId: "m" } as const;

describe("a step of a follower", () => {
  it("keeps all messages when nothing was edited since", () => {
    expect(step(1, [])).toEqual(stands);
    expect(step(7, [edit(5, 2), edit(7, 3)])).toEqual(stands);
    expect(step(7, [edit(5, 2), edit(7, 3, UPDATED)])).toEqual(stands);
  });

  it("keeps the smallest number of messages that any edit since has kept", () => {
    expect(step(4, [edit(3, 1), edit(5, 6), edit(8, 7)])).toEqual(truncated(6));
    expect(step(1, [edit(5, 12)])).toEqual(stands);
    expect(step(1, [], 4)).toEqual(truncated(4));
  });

  it("uses the remembered edits if they include the first one since", () => {
    const edits = [edit(5, 9), edit(6, 8), edit(7, 7)];
    expect(step(4, edits)).toEqual(truncated(7));
    expect(step(5, edits)).toEqual(truncated(7));
  });

  it("reports everything again when edits since may have been forgotten", () => {
    expect(step(3, [edit(5, 9), edit(6, 8), edit(7, 7)])).toEqual(truncated(0));
    expect(step(3, [edit(5, 9), edit(7, 7)])).toEqual(truncated(7));
    const forgetful = { edits: [edit(7, 4, UPDATED)] } as unknown as SessionRecord;
    const at = { sessionUid: "a", revision: 3, position: 10 };
    expect(stepOf(forgetful, at, 20, 1)).toEqual(truncated(0));
  });

  it("reports a single edit since that changed a message before the position", () => {
    expect(step(6, [edit(5, 1), edit(7, 4, UPDATED)])).toEqual({ kind: "updated", index: 4, position: 10 });
    expect(step(6, [edit(7, 9, DELETED)])).toEqual({ kind: "deleted", index: 9, messageId: "m", position: 9 });
    expect(step(6, [edit(7, 0, DELETED)], 9)).toEqual({ kind: "deleted", index: 0, messageId: "m", position: 9 });
  });

  it("ignores an edit of a message that was not reported yet", () => {
    expect(step(6, [edit(7, 10, UPDATED)])).toEqual(stands);
    expect(step(6, [edit(7, 10, DELETED)])).toEqual(stands);
  });

  it("reports several edits as a truncate to what all of them have kept", () => {
    expect(step(4, [edit(5, 6), edit(7, 4, UPDATED)])).toEqual(truncated(4));
    expect(step(4, [edit(5, 3), edit(7, 4, DELETED)])).toEqual(truncated(3));
    expect(step(4, [edit(5, 12), edit(7, 4, DELETED)])).toEqual(truncated(4));
  });

  it("reports a truncate when the history is shorter than a single edit explains", () => {
    expect(step(6, [edit(7, 4, UPDATED)], 9)).toEqual(truncated(4));
    expect(step(6, [edit(7, 4, DELETED)], 3)).toEqual(truncated(3));
  });
});
