import { expect, it } from "vitest";
import { standingMessages } from "../../../../src/storage/history/follow/follow-step.js";
import type { EditMark, SessionRecord } from "../../../../src/storage/history/log-store.js";

const MOST_EDITS = 3;

/** How many of ten messages still stand in front of a follower that has seen the session up to this revision. */
function standing(revision: number, edits: readonly EditMark[]): number {
  return standingMessages({ edits } as SessionRecord, { sessionUid: "a", revision, position: 10 }, MOST_EDITS);
}

const edit = (revision: number, kept: number): EditMark => ({ revision, kept });

it("leaves a follower all messages when nothing was edited since", () => {
  expect(standing(1, [])).toBe(10);
  expect(standing(7, [edit(5, 2), edit(7, 3)])).toBe(10);
});

it("leaves a follower the least that any edit since has kept", () => {
  expect(standing(4, [edit(3, 1), edit(5, 6), edit(8, 7)])).toBe(6);
  expect(standing(1, [edit(5, 12)])).toBe(10);
});

it("goes by the edits while the oldest that is remembered is the first one since", () => {
  const edits = [edit(5, 9), edit(6, 8), edit(7, 7)];
  expect(standing(4, edits)).toBe(7);
  expect(standing(5, edits)).toBe(7);
});

it("has a follower told everything again when edits since may have been forgotten", () => {
  expect(standing(3, [edit(5, 9), edit(6, 8), edit(7, 7)])).toBe(0);
  expect(standing(3, [edit(5, 9), edit(7, 7)])).toBe(7);
});
