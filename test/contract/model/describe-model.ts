import fc from "fast-check";
import { describe, it } from "vitest";
import { checkSteps, type OpenStore, SIZES } from "./check.js";
import { steps } from "./operations.js";

/** A sequence takes a few milliseconds: one that takes so long waits for something that never comes. */
const HANGS_AFTER_MS = 60_000;

/**
 * Random sequences of operations by three providers over one store, one of them behind a StorageManager, each answer compared with the naive model's.
 * MODEL_RUNS: sequences for each of the sizes, in place of `runs`. MODEL_SEED: as printed by an earlier run.
 */
export function describeModel(name: string, open: OpenStore, runs: number): void {
  const numRuns = Number(process.env.MODEL_RUNS ?? runs);
  const seed = Number(process.env.MODEL_SEED ?? Date.now() % 2 ** 31);

  describe(`histories on ${name} against the naive model`, () => {
    it.each(SIZES.map((sizes) => [JSON.stringify(sizes), sizes] as const))(
      "give the same answers, and leave nothing, with %s",
      async (_, sizes) => {
        console.log(`Model on ${name}: ${numRuns} sequences, MODEL_SEED=${seed}`);
        const property = fc.asyncProperty(steps, (sequence) => checkSteps(open, sizes, sequence));
        await fc.assert(property, { numRuns, seed, timeout: HANGS_AFTER_MS });
      },
      600_000,
    );
  });
}
