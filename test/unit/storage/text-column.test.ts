import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromColumn, toColumn } from "../../../src/storage/text-column.js";

const texts = fc.string({ unit: fc.constantFrom("\u0000", "\u0001", "0", "1", "a", "\u{1F600}"), maxLength: 12 });

describe("text columns", () => {
  it("contain no U+0000, and decode to the same text", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(toColumn(text)).not.toContain("\u0000");
        expect(fromColumn(toColumn(text))).toBe(text);
      }),
    );
  });

  it("are equal only for equal texts, and encode concatenated texts part by part", () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(toColumn(a) === toColumn(b)).toBe(a === b);
        expect(toColumn(a + b)).toBe(toColumn(a) + toColumn(b));
      }),
    );
  });
});
