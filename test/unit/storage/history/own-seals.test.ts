import { expect, it } from "vitest";
import type { Head } from "../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../src/storage/history/log-store.js";
import { OwnSeals } from "../../../../src/storage/history/write/own-seals.js";

function headOf(sessionId: string, log = "x.1", state: Head["state"] = "sealed"): Head {
  return { state, record: { sessionId, log } as SessionRecord } as Head;
}

const note = (seals: OwnSeals, ...ids: readonly string[]) => {
  for (const id of ids) seals.note(headOf(id).record);
};

it("a seal of one's own is known for its log only, and only while the log is sealed", () => {
  const seals = new OwnSeals(2);
  note(seals, "a");
  expect(seals.has(headOf("a"))).toBe(true);
  expect(seals.has(headOf("a", "x.2"))).toBe(false);
  expect(seals.has(headOf("a", "x.1", "open"))).toBe(false);
  expect(seals.has(headOf("b"))).toBe(false);
  seals.forget(headOf("a").record);
  expect(seals.has(headOf("a"))).toBe(false);
});

it("seals of as many sessions as there may be are known, and the oldest is forgotten first", () => {
  const seals = new OwnSeals(2);
  note(seals, "a", "b", "a");
  expect(["a", "b"].map((id) => seals.has(headOf(id)))).toEqual([true, true]);
  note(seals, "c");
  expect(["a", "b", "c"].map((id) => seals.has(headOf(id)))).toEqual([true, false, true]);
});
