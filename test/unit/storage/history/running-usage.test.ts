import fc from "fast-check";
import { expect, it } from "vitest";
import { minusUsage, NO_USAGE, plusUsage, sumsOf, type Usage, type UsageSums } from "../../../../src/domain/usage.js";
import {
  NOTHING_USED,
  plusEntry,
  type RunningUsage,
  runningOfText,
  runningText,
} from "../../../../src/storage/history/running-usage.js";

const tokens = fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined });
const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: tokens,
  cost: fc.constantFrom("0", "0.1", "0.000000000000000001", `${"9".repeat(12)}.5`),
  currency: fc.constantFrom("USD", "EUR", "JPY", "CHF", "SEK", "DKK"),
  durationMicros: tokens,
});
const origins = ["own", "__proto__", "", ...Array.from({ length: 9 }, (_, i) => `s${i}`)];
const entries = fc.array(fc.record({ originSessionId: fc.constantFrom(...origins), usage }), { maxLength: 60 });

/** The sums after each entry. */
function running(all: readonly { readonly originSessionId: string; readonly usage: Usage }[]): RunningUsage[] {
  let sums: RunningUsage = NOTHING_USED;
  return all.map(({ originSessionId, usage }) => {
    sums = plusEntry(sums, { sessionId: "own", originSessionId }, usage);
    return sums;
  });
}

function sumOf(all: readonly Usage[]): UsageSums {
  return all.reduce((sum, one) => plusUsage(sum, sumsOf(one)), NO_USAGE);
}

it("the sums of entries are exact for every session that they hold apart, and say when one is missing", () => {
  fc.assert(
    fc.property(entries, (all) => {
      for (const [i, sums] of running(all).entries()) {
        const before = all.slice(0, i + 1);
        expect(sums.all).toEqual(sumOf(before.map(({ usage }) => usage)));
        for (const origin of origins) {
          const expected = sumOf(before.filter((one) => one.originSessionId === origin).map(({ usage }) => usage));
          const found = origin === "own" ? sums.own : sums.foreign.get(origin);
          if (found === undefined && !sums.more) expect(expected).toEqual(NO_USAGE);
          if (found !== undefined) expect(found).toEqual(expected);
        }
      }
    }),
  );
});

it("the sums are the same once they were stored, and small whatever is copied together", () => {
  fc.assert(
    fc.property(entries, (all) => {
      for (const sums of running(all)) {
        const text = runningText(sums);
        expect(runningOfText(text)).toEqual(sums);
        expect(sums.foreign.size).toBeLessThanOrEqual(8);
        for (const { costs } of sums.foreign.values()) expect(costs.size).toBeLessThanOrEqual(4);
      }
    }),
  );
});

it("a difference of sums has no currency that came to nothing", () => {
  const one = sumsOf({ cost: "0.1", currency: "USD" });
  expect(minusUsage(plusUsage(one, sumsOf({ inputTokens: 1 })), one)).toEqual(sumsOf({ inputTokens: 1 }));
});
