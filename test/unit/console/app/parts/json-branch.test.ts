import { describe, expect, it } from "vitest";
import type { Json } from "../../../../../src/console/app/api/types.js";
import {
  type Branch,
  childrenOf,
  Digits,
  openAtFirst,
  shownValue,
} from "../../../../../src/console/app/parts/json-branch.js";

function tree(width: number, depth: number): Json {
  return depth === 0 ? 1 : Array.from({ length: width }, () => tree(width, depth - 1));
}

describe("a JSON tree", () => {
  it("opens everything that is small", () => {
    const inner = { c: [1, 2] };
    const value = { a: { b: inner } };
    expect([...openAtFirst(value)]).toEqual([value, value.a, inner, inner.c]);
  });

  it("opens four levels of a deep value", () => {
    expect(openAtFirst(JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`) as Branch).size).toBe(4);
  });

  it("opens whole levels, and few values in all", () => {
    expect(openAtFirst(tree(8, 6) as Branch).size).toBe(1 + 8);
    expect(openAtFirst(tree(2, 10) as Branch).size).toBe(1 + 2 + 4 + 8);
  });

  it("opens nothing in what has many entries, and nothing that has many", () => {
    expect(openAtFirst(tree(12, 3) as Branch).size).toBe(1);
    expect(openAtFirst([Array(9).fill(1), [1]]).size).toBe(2);
  });

  it("has entries by name and by number", () => {
    expect(childrenOf({ a: 1, b: 2 }, 1)).toEqual([["a", 1]]);
    expect(childrenOf([7, 8], 9)).toEqual([
      ["0", 7],
      ["1", 8],
    ]);
  });

  it("shows the digits of numbers that JavaScript's cannot hold, and what was stored as JSON text", () => {
    expect(shownValue({ $number: "9223372036854775807" })).toEqual(new Digits("9223372036854775807"));
    const packed = { $json: '[[{"a":1}]]' };
    expect(shownValue(packed)).toEqual([[{ a: 1 }]]);
    expect(shownValue(packed)).toBe(shownValue(packed));
    for (const other of [
      { $number: 1 },
      { $number: "1", a: 1 },
      { $$number: "1" },
      { $json: "[" },
      ["$number"],
      "$json",
      null,
    ])
      expect(shownValue(other as Json)).toBe(other);
  });
});
