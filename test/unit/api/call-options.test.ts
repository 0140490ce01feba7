import { expect, it } from "vitest";
import { exactCount } from "../../../src/api/call-options.js";

it("reads a count that may be absent", () => {
  expect(exactCount("version", 7n)).toBe(7);
  expect(exactCount("expected_position", undefined)).toBeUndefined();
  expect(exactCount("version", BigInt(Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER);
});

it.each([2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)])("refuses %s, and shows it as it was sent", (count) => {
  const message = `expected_position is ${count}; it must be a whole number from 0 to 9007199254740991`;
  expect(() => exactCount("expected_position", count)).toThrow(message);
});
