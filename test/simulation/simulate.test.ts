import { describe, expect, it } from "vitest";
import type { Rule } from "../../src/storage/history/rules.js";
import { failureOf } from "./replay.js";
import type { StoreKind } from "./sim-run.js";
import { simulate } from "./simulate.js";

/** Rules that random seeds notice soon; rule-schedules.ts has a schedule for each of them all. */
const NOTICED: readonly (readonly [Rule, StoreKind])[] = [
  ["seal-before-edit", "atomic"],
  ["seal-before-edit", "weak"],
  ["plan-on-sealed", "atomic"],
  ["compare-and-set", "atomic"],
  ["forks-apart", "atomic"],
  ["raise-before-child", "atomic"],
  ["lower-unnamed-only", "weak"],
  ["sweep-unforked-only", "weak"],
  ["look-up-in-segments", "atomic"],
  ["append-clears-undo", "atomic"],
  ["whole-batches-only", "weak"],
  ["tail-first-gap", "weak"],
];

const MOST_SEEDS = 500;

describe("the simulator", () => {
  it.each(NOTICED)("notices that %s is missing on the %s store", async (rule, store) => {
    for (let seed = 1; seed <= MOST_SEEDS; seed++) {
      const failure = await failureOf(seed, { store, without: [rule] });
      if (failure === null) continue;
      expect(failure).toContain(`SIM_SEED=${seed}`);
      expect(failure).toContain("Schedule:");
      return;
    }
    expect.fail(`None of ${MOST_SEEDS} seeds noticed it`);
  });

  it.each(["atomic", "weak"] as const)("does the same again with the same seed on the %s store", async (store) => {
    for (const seed of [1, 2, 3]) {
      expect(await simulate(seed, { store, trace: true })).toEqual(await simulate(seed, { store, trace: true }));
    }
  });
});
