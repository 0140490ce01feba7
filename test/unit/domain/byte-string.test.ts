import fc from "fast-check";
import { expect, test } from "vitest";
import { byteStringOf, sliceBytes, textOf, toByteString, toBytes } from "../../../src/domain/byte-string.js";

const text = fc.string({ unit: "grapheme" });

test("a byte string holds one byte of UTF-8 in each character, and decodes to the same text", () => {
  fc.assert(
    fc.property(text, (given) => {
      const bytes = toByteString(given);
      expect(toBytes(bytes)).toEqual(Buffer.from(given));
      expect(byteStringOf(Buffer.from(given))).toBe(bytes);
      expect(textOf(bytes)).toBe(given);
    }),
  );
});

test("byte strings are sliced at byte offsets", () => {
  fc.assert(
    fc.property(text, text, (first, second) => {
      const length = Buffer.byteLength(first);
      const both = toByteString(first + second);
      expect(textOf(sliceBytes(both, 0, length))).toBe(first);
      expect(textOf(sliceBytes(both, length))).toBe(second);
    }),
  );
});
