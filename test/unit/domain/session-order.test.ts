import { describe, expect, it } from "vitest";
import {
  compareCodePoints,
  NEWEST_FIRST,
  orderText,
  parseOrder,
  parseTitleFilter,
  titleKey,
  titleWords,
} from "../../../src/domain/session-order.js";

describe("parseOrder", () => {
  it("reads a field with or without desc, and redundant spaces", () => {
    expect(parseOrder("")).toEqual(NEWEST_FIRST);
    expect(parseOrder("  ")).toEqual(NEWEST_FIRST);
    expect(parseOrder("title")).toEqual({ by: "title", descending: false });
    expect(parseOrder(" create_time \t desc ")).toEqual({ by: "create_time", descending: true });
    for (const text of ["update_time", "create_time desc", "title desc"])
      expect(orderText(parseOrder(text))).toBe(text);
  });

  it.each([
    ["title asc", 'order_by is "title asc"; ascending is written without a direction: "title"'],
    ["title,create_time", /it must name one field/],
    ["owner", /the fields to order by are update_time, create_time, title/],
    ["Title", /the fields to order by/],
    ["title DESC", /only "desc" may follow/],
    ["title desc desc", /only "desc" may follow/],
    ["title\u00a0desc", /the fields to order by/],
    ["x".repeat(257), /order_by is 257 bytes; at most 256/],
    ["\ud800", /lone surrogate/],
  ])("refuses %j", (text, message) => {
    expect(() => parseOrder(text)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    expect(() => parseOrder(text)).toThrow(message);
  });
});

describe("titleKey", () => {
  it("has no case, accents and control characters", () => {
    expect(titleKey("Ärger\u0000 MIT\u0001 e\u0301")).toBe("arger  mit  e");
    expect(titleKey("Σας")).toBe(titleKey("ΣΑΣ"));
  });

  it.each(["x", "é", "日", "😀"])("is cut between characters, at 256 bytes at most: %s", (character) => {
    for (const before of ["", "a", "ab", "abc"]) {
      const key = titleKey(before + character.repeat(400));
      const bytes = Buffer.byteLength(key);
      expect(bytes).toBeLessThanOrEqual(256);
      expect(bytes).toBeGreaterThan(252);
      expect(key.isWellFormed()).toBe(true);
      expect(key.includes("\ufffd")).toBe(false);
    }
  });

  it("is ordered as its bytes in UTF-8 are", () => {
    const keys = ["", "a", "aa", "b", "é", "\ue000", "\uffff", "😀", "\u{10ffff}", "a😀", "a\uffff"];
    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(keys.toSorted(compareCodePoints)).toEqual(byBytes);
  });
});

describe("words of titles", () => {
  it("are found by any piece of a title in a script without spaces, and whole in others", () => {
    const isFound = (filter: string, title: string) =>
      parseTitleFilter(filter)?.every((word) => titleWords(title).includes(word));
    for (const piece of ["日", "日本", "本語", "日本語", "語", "React", "REACT 日本"])
      expect(isFound(piece, "React日本語"), piece).toBe(true);
    for (const piece of ["本日", "Rea", "日本語学"]) expect(isFound(piece, "React日本語"), piece).toBe(false);
    expect(isFound("koln STRASSE", "Straße nach Köln")).toBe(false);
    expect(isFound("KOLN nach", "Straße nach Köln")).toBe(true);
  });

  it("are none for an empty filter, and refused where there are none", () => {
    expect(parseTitleFilter("")).toBeUndefined();
    expect(parseTitleFilter(undefined)).toBeUndefined();
    expect(() => parseTitleFilter("... 😀")).toThrow("title holds no letter or digit to look for");
    expect(() => parseTitleFilter("é".repeat(129))).toThrow("title is 258 bytes; at most 256 are allowed");
  });
});
