import fc from "fast-check";
import { expect, it } from "vitest";
import { parseEntry } from "../../../../../src/commands/transfer/foreign/parse-entry.js";

it.each([
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", 9007199254740992],
  ["1e400", "1e400"],
  ["NaN", "NaN"],
  ["-Infinity", "-Infinity"],
  ["0.1234567890123456789", 0.12345678901234568],
])("the number %s is %j", (text, value) => {
  expect(parseEntry(`{"a":[${text},"\\"${text}"]}`)).toEqual({ a: [value, `"${text}`] });
});

it("everything else is what JSON.parse gives", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseEntry(text)).toEqual(JSON.parse(text));
    }),
  );
});

it.each(["{", '{"a":NaN', "{'a':1}", '"\\'])("%s is refused as JSON.parse refuses it", (text) => {
  expect(() => parseEntry(text)).toThrow(SyntaxError);
});
