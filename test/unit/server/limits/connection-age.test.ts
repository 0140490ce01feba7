import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jitteredAge } from "../../../../src/server/limits/connection-age.js";

const AGE_MS = 3_600_000;

describe("jitteredAge", () => {
  it("differs from the limit by a tenth at most", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        expect(Math.abs(jitteredAge(AGE_MS, random) - AGE_MS)).toBeLessThanOrEqual(AGE_MS / 10);
      }),
    );
  });

  it("spreads connections over a hundred ages and no more, because each leaves a list of timers behind", () => {
    const ages = Array.from({ length: 20_000 }, (_, i) => jitteredAge(AGE_MS, i / 20_000));
    expect(new Set(ages).size).toBe(100);
    expect(ages.every(Number.isInteger)).toBe(true);
  });
});
