import { describe, expect, it } from "vitest";
import { recordsOf } from "../../../../src/storage/sqlite/record-pages.js";
import type { Row } from "../../../../src/storage/sqlite/statements.js";

const UIDS = ["a", "b", "c", "d", "e", "f", "g"];

/** A row with as many records as asked for, as the statements of lists return it, unless it would be too long. */
function reader(longest: number, code = "SQLITE_TOOBIG") {
  const asked: number[] = [];
  const read = (most: number, after: { readonly uid: string } | undefined): Row => {
    asked.push(most);
    const uids = UIDS.filter((uid) => uid > (after?.uid ?? "")).slice(0, most);
    if (uids.length > longest) throw Object.assign(new Error("too big"), { code });
    const items = uids.flatMap((uid) => [
      [uid, 0, uid, "", "", null, 1, null, 1, 0, null, uid, null, null],
      { version: 1 },
    ]);
    return [items.length === 0 ? null : Buffer.from(JSON.stringify(items))];
  };
  return { read, asked };
}

describe("a page of records", () => {
  it("is one row", () => {
    const { read, asked } = reader(7);
    expect(recordsOf(5, undefined, read).map(({ uid }) => uid)).toEqual(["a", "b", "c", "d", "e"]);
    expect(asked).toEqual([5]);
  });

  it.each(["SQLITE_TOOBIG", "ERR_STRING_TOO_LONG"])("is read in parts where a row is refused as %s", (code) => {
    for (const longest of [1, 2, 3, 4, 5, 6]) {
      for (let limit = 1; limit <= 9; limit++) {
        const { read } = reader(longest, code);
        expect(recordsOf(limit, { uid: "b" }, read).map(({ uid }) => uid)).toEqual(UIDS.slice(2, 2 + limit));
      }
    }
  });

  it("is refused where one record alone is too long, and for any other reason", () => {
    expect(() => recordsOf(4, undefined, reader(0).read)).toThrow("too big");
    const { read, asked } = reader(0, "SQLITE_BUSY");
    expect(() => recordsOf(4, undefined, read)).toThrow("too big");
    expect(asked).toEqual([4]);
  });
});
