import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Segment, SessionRecord } from "../../../../src/storage/history/log-store.js";
import {
  ancestryGroups,
  droppedRanges,
  joinSegments,
  OPEN_END,
  positionOf,
  runToMerge,
  sliceSegments,
  totalLength,
} from "../../../../src/storage/history/segments.js";

const segment = fc
  .record({
    log: fc.constantFrom("a.1", "a.2", "b.1"),
    first: fc.integer({ min: 1, max: 9 }),
    length: fc.integer({ min: 0, max: 5 }),
  })
  .map(({ log, first, length }): Segment => ({ log, first, last: first + length - 1 }));
const segments = fc.array(segment, { maxLength: 6 });

/** The entries that a list names, one by one. */
function entriesOf(list: readonly Segment[]): string[] {
  return list.flatMap(({ log, first, last }) =>
    Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => `${log} ${first + i}`),
  );
}

describe("segments", () => {
  it("joins lists without changing what they name, and makes one segment of neighbours that are contiguous", () => {
    fc.assert(
      fc.property(segments, segments, (a, b) => {
        const joined = joinSegments(a, b);
        expect(entriesOf(joined)).toEqual([...entriesOf(a), ...entriesOf(b)]);
        for (const [i, next] of joined.entries()) {
          const previous = joined[i - 1];
          expect(previous?.log === next.log && previous.last + 1 === next.first).toBe(false);
        }
      }),
    );
  });

  it("chooses as many neighbours to merge as allowed, where they hold the fewest messages", () => {
    const list = [9, 1, 2, 1, 8, 1, 1, 1, 9].map((length, i): Segment => ({ log: `a.${i}`, first: 1, last: length }));
    expect(runToMerge(list, 4, 100)).toEqual({ from: 3, size: 4 });
    expect(runToMerge(list, 99, 100)).toEqual({ from: 0, size: 9 });
    expect(runToMerge(list, 99, 33)).toEqual({ from: 0, size: 9 });
    expect(runToMerge(list, 99, 32)).toEqual({ from: 3, size: 4 });
    expect(runToMerge(list, 99, 5)).toEqual({ from: 5, size: 3 });
    expect(runToMerge(list, 2, 0)).toEqual({ from: 5, size: 2 });
    expect(runToMerge(list.slice(0, 8), 3, 100)).toEqual({ from: 5, size: 3 });
    expect(runToMerge(list.slice(0, 2), 64, 0)).toEqual({ from: 0, size: 2 });
  });

  it("slices like an array of entries", () => {
    fc.assert(
      fc.property(segments, fc.nat(12), fc.nat(12), (list, from, to) => {
        const full = joinSegments(list);
        expect(entriesOf(sliceSegments(full, from, to))).toEqual(entriesOf(full).slice(from, Math.max(from, to)));
      }),
    );
  });

  it("finds the first position of every entry that a list names, and none for other entries", () => {
    fc.assert(
      fc.property(segments, (list) => {
        const full = joinSegments(list);
        const entries = entriesOf(full);
        for (const log of ["a.1", "a.2", "b.1"]) {
          for (let seq = 1; seq <= 14; seq++) expect(positionOf(full, log, seq)).toBe(entries.indexOf(`${log} ${seq}`));
        }
        expect(totalLength(full)).toBe(entries.length);
      }),
    );
  });

  it("drops exactly the places of the session's own logs that the next record no longer names", () => {
    const record = (list: readonly Segment[], log: string, undo: readonly Segment[] = []) =>
      ({
        uid: "a",
        segments: list,
        log,
        namedLogs: [],
        drafts: [],
        ancestry: [],
        undo: { segments: undo, lastTimestampMicros: 0 },
      }) satisfies Partial<SessionRecord>;
    const before = record(
      [
        { log: "b.1", first: 1, last: 9 },
        { log: "a.1", first: 1, last: 9 },
      ],
      "a.2",
    );
    const after = record(
      [
        { log: "b.1", first: 1, last: 2 },
        { log: "a.1", first: 2, last: 4 },
      ],
      "a.3",
      [{ log: "a.1", first: 8, last: 8 }],
    );
    expect(droppedRanges(before, after)).toEqual([
      { log: "a.1", first: 1, last: 1 },
      { log: "a.1", first: 5, last: 7 },
      { log: "a.1", first: 9, last: 9 },
      { log: "a.2", first: 1, last: OPEN_END },
    ]);
  });

  it("drops a place once, however many lists name it and in whatever order", () => {
    const none = { segments: [], ancestry: [], undo: null, namedLogs: [], drafts: [] };
    const range = (log: string, first: number, last: number) => ({ log, first, last });
    const before = {
      ...none,
      uid: "a",
      segments: [range("a.3", 5, 9), range("a.1", 4, 6), range("a.2", 1, 2), range("a.1", 2, 2)],
      log: "a.4",
      undo: { segments: [range("a.1", 1, 5), range("a.3", 4, 7), range("a.2", 3, 3)], lastTimestampMicros: 0 },
    };
    expect(droppedRanges(before, { ...none, log: "a.5" })).toEqual([
      range("a.1", 1, 6),
      range("a.2", 1, 3),
      range("a.3", 4, 9),
      range("a.4", 1, OPEN_END),
    ]);
    const apart = { ...none, uid: "a", segments: [range("a.1", 1, 2), range("a.1", 5, 9)], log: "a.2" };
    expect(droppedRanges(apart, { ...none, segments: [range("a.1", 1, 2)], log: "a.2" })).toEqual([range("a.1", 5, 9)]);
    expect(droppedRanges(before, { ...none, segments: [range("a.1", 1, 6)], log: "a.4" })).toEqual([
      range("a.2", 1, 3),
      range("a.3", 4, 9),
    ]);
  });

  it("splits ancestry where another session begins", () => {
    const segment = (sessionId: string, first: number) => ({ log: "a.1", first, last: first, sessionId });
    expect(ancestryGroups([])).toEqual([]);
    expect(ancestryGroups([segment("a", 1), segment("a", 2), segment("b", 3), segment("a", 4)])).toEqual([
      [segment("a", 1), segment("a", 2)],
      [segment("b", 3)],
      [segment("a", 4)],
    ]);
  });
});
