import fc from "fast-check";
import { expect, test } from "vitest";
import { byteStringOf, textOf, toByteString, toBytes } from "../../../src/domain/byte-string.js";

const text = fc.string({ unit: "grapheme" });

test("a byte string holds one byte of UTF-8 in each character, and decodes to the same text", () => {
  fc.assert(
    fc.property(text, (given) => {
      const bytes = toByteString(given);
      expect(toBytes(bytes)).toEqual(Buffer.from(given));
      expect(byteStringOf(Buffer.from(given))).toBe(bytes);
      expect(textOf(bytes)).toBe(given);
      expect(textOf(Buffer.from(given))).toBe(given);
      expect(toBytes(Buffer.from(given))).toEqual(Buffer.from(given));
    }),
  );
});
