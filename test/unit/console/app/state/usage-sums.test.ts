import { expect, it } from "vitest";
import type { UsageSums } from "../../../../../src/console/app/api/types.js";
import {
  added,
  compact,
  costs,
  hasCalls,
  money,
  sumsFacts,
  sumsLine,
  without,
} from "../../../../../src/console/app/state/usage-sums.js";

const usd = (amount: string) => ({ currency: "USD", amount });
const sums: UsageSums = {
  calls: "3",
  inputTokens: "12000",
  outputTokens: "345",
  cachedInputTokens: "9000",
  costs: [usd("0.1")],
  duration: "3.500s",
};

it("adds and takes away amounts exactly, and never across currencies", () => {
  const other = {
    calls: "1",
    inputTokens: "1",
    costs: [usd("0.2"), { currency: "EUR", amount: "12.000000000000000001" }],
  };
  const both = added(sums, other);
  expect(both).toMatchObject({ calls: "4", inputTokens: "12001", outputTokens: "345" });
  expect(both.costs).toEqual([usd("0.3"), { currency: "EUR", amount: "12.000000000000000001" }]);
  expect(without(both, other)).toMatchObject({ calls: "3", costs: [usd("0.1")], duration: "3.5s" });
  expect(without(other, both).costs).toEqual([usd("-0.1")]);
});

it("shows as many digits of a small amount as tell something", () => {
  expect([money(usd("0")), money(usd("1234.5")), money(usd("0.0125")), money(usd("0.000012345"))]).toEqual([
    "$0.00",
    "$1,234.50",
    "$0.0125",
    "$0.0000123",
  ]);
  expect(money({ currency: "no such", amount: "2" })).toBe("2.00 no such");
  expect(costs([usd("1"), { currency: "EUR", amount: "2" }])).toBe("$1.00 + €2.00");
});

it("says sums in a line, and all of them with exact numbers", () => {
  expect([compact(999), compact("12345"), sumsLine(sums), sumsLine({})]).toEqual([
    "999",
    "12.3K",
    "12.3K tokens · $0.10",
    "0 tokens",
  ]);
  expect(sumsFacts(sums)).toEqual([
    ["Calls of models", "3"],
    ["Tokens read", "12,000, 9,000 of them from a cache"],
    ["Tokens written", "345"],
    ["Cost", "$0.10"],
    ["Time of models", "3.5 s"],
  ]);
  expect([hasCalls(sums), hasCalls({}), hasCalls(undefined)]).toEqual([true, false, false]);
});
