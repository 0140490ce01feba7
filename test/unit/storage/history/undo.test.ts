import { expect, it } from "vitest";
import type { Head } from "../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../src/storage/history/log-store.js";
import { undoAt, undoOfRevert } from "../../../../src/storage/history/undo.js";

const BEFORE = { segments: [{ log: "a.1", first: 1, last: 4 }], lastTimestampMicros: 40 };

function headOf(undo: SessionRecord["undo"], seq: number): Head {
  const record = { segments: [{ log: "a.1", first: 1, last: 2 }], log: "a.2", undo } as unknown as SessionRecord;
  const lastTimestampMicros = seq === 0 ? 20 : 50;
  return { record, seq, state: "open", count: 2 + seq, lastTimestampMicros, lastId: null, atMs: 0 };
}

it("undoAt returns what the record keeps as long as nothing has been appended", () => {
  expect(undoAt({ undo: BEFORE }, 0)).toBe(BEFORE);
  expect(undoAt({ undo: null }, 0)).toBeNull();
});

it("undoAt returns null after an append", () => {
  expect(undoAt({ undo: BEFORE }, 1)).toBeNull();
});

it("a first revert keeps the messages before it", () => {
  const open = { log: "a.2", first: 1, last: 1 };
  const segments = [{ log: "a.1", first: 1, last: 2 }, open];
  expect(undoOfRevert(headOf(null, 1))).toEqual({ segments, lastTimestampMicros: 50 });
});

it("several reverts in a row keep the messages before the first one", () => {
  expect(undoOfRevert(headOf(BEFORE, 0))).toBe(BEFORE);
});

it("a revert after an append keeps the messages as they are then", () => {
  const { segments } = undoOfRevert(headOf(BEFORE, 1));
  expect(segments).toEqual([
    { log: "a.1", first: 1, last: 2 },
    { log: "a.2", first: 1, last: 1 },
  ]);
});
