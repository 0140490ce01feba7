import { expect, it } from "vitest";
import type { Head } from "../../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../../src/storage/history/log-store.js";
import { OwnSeals } from "../../../../../src/storage/history/write/own-seals.js";

function headOf(sessionId: string, log = "x.1", state: Head["state"] = "sealed"): Head {
  return { state, record: { sessionId, log } as SessionRecord } as Head;
}

const note = (seals: OwnSeals, ...ids: readonly string[]) => {
  for (const id of ids) seals.note(headOf(id).record);
};

it("a process knows its own seal only for the sealed log, and only while that is sealed", () => {
  const seals = new OwnSeals(2);
  note(seals, "a");
  expect(seals.has(headOf("a"))).toBe(true);
  expect(seals.has(headOf("a", "x.2"))).toBe(false);
  expect(seals.has(headOf("a", "x.1", "open"))).toBe(false);
  expect(seals.has(headOf("b"))).toBe(false);
  seals.forget(headOf("a").record);
  expect(seals.has(headOf("a"))).toBe(false);
});

it("a process knows its own seals of a limited number of sessions, and forgets the oldest first", () => {
  const seals = new OwnSeals(2);
  note(seals, "a", "b", "a");
  expect(["a", "b"].map((id) => seals.has(headOf(id)))).toEqual([true, true]);
  note(seals, "c");
  expect(["a", "b", "c"].map((id) => seals.has(headOf(id)))).toEqual([true, false, true]);
});
