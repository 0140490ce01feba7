import { describe, expect, it } from "vitest";
import { RecordCache } from "../../../../src/storage/sqlite/record-cache.js";
import type { Bound, Row } from "../../../../src/storage/sqlite/statements.js";

const UPDATE_TIME = 6;

function rowOf(uid: string, title: string): Row {
  const body = JSON.stringify({
    title,
    labels: { a: "b" },
    segments: [{ log: `${uid}.0`, first: 1, last: 2 }],
    version: 1,
  });
  return [uid, 0, "s", "", "", null, 10, null, 1, 0, null, `${uid}.1`, null, null, null, null, body];
}

describe("RecordCache", () => {
  it("parses a row once as long as it stays the same", () => {
    const cache = new RecordCache();
    expect(cache.recordOf(rowOf("u", "A"))).toBe(cache.recordOf(rowOf("u", "A")));
  });

  it.each(
    rowOf("u", "A")
      .map((_, column) => column)
      .filter((column) => column !== 0),
  )("reads the record again when column %i has changed", (column) => {
    const cache = new RecordCache();
    const before = rowOf("u", "A");
    const first = cache.recordOf(before);
    const after = before.map((value, i) => (i !== column ? value : changed(value)));
    expect(cache.recordOf(after)).not.toBe(first);
  });

  it("returns the changed values", () => {
    const cache = new RecordCache();
    cache.recordOf(rowOf("u", "A"));
    const later = rowOf("u", "B").map((value, column) => (column === UPDATE_TIME ? 20 : value));
    expect(cache.recordOf(later)).toMatchObject({ title: "B", updateTimeMicros: 20, sessionRevision: 1 });
  });

  it("returns frozen records, so that no reader can change what others read", () => {
    const record = new RecordCache().recordOf(rowOf("u", "A"));
    expect(() => Object.assign(record, { title: "B" })).toThrow(TypeError);
    expect(() => Object.assign(record.labels as object, { a: "c" })).toThrow(TypeError);
    expect(() => Object.assign(record.segments[0] as object, { last: 9 })).toThrow(TypeError);
  });

  it("keeps a limited number of records, and no large ones", () => {
    const cache = new RecordCache();
    const first = cache.recordOf(rowOf("u0", "A"));
    for (let i = 1; i <= 256; i++) cache.recordOf(rowOf(`u${i}`, "A"));
    expect(cache.recordOf(rowOf("u0", "A"))).not.toBe(first);
    const large = rowOf("u", "A".repeat(10_000));
    expect(cache.recordOf(large)).not.toBe(cache.recordOf(large));
  });
});

/** A different value of the same type. JSON gets one more member. */
function changed(value: Bound): Bound {
  if (typeof value === "number") return value + 1;
  if (typeof value === "string" && value.startsWith("{")) return value.replace("{", '{"more":1,');
  return value === null ? "[]" : `${value}x`;
}
