import fc from "fast-check";
import { describe, it } from "vitest";
import type { LogStoreHarness } from "../log-store/subject.js";
import { checkSteps } from "./check.js";
import { SIZES } from "./providers.js";
import { steps } from "./sequences.js";

/**
 * A sequence takes some milliseconds in memory, and ten seconds on MongoDB on a busy machine. One that takes this long
 * is waiting for something that never comes.
 */
const HANGS_AFTER_MS = 300_000;
/** The time after which a failing sequence is reported as it is, however long it could still be made shorter. */
const ENDS_AFTER_MS = 600_000;

/** How many sequences run for each of the sizes, where the caller does not say. */
const RUNS = 100;

/**
 * Runs random sequences of operations on three providers over one store, one of which a StorageManager wraps, and
 * compares each answer with that of the naive model. The environment variable MODEL_RUNS sets how many sequences run
 * for each of the sizes, in place of `runs`. MODEL_SEED repeats an earlier run by the seed that it printed.
 */
export function describeModel(name: string, harness: LogStoreHarness, runs = RUNS): void {
  const numRuns = Number(process.env.MODEL_RUNS ?? runs);
  const seed = Number(process.env.MODEL_SEED ?? Date.now() % 2 ** 31);

  // fast-check ends a run that takes too long, and says with which sequence.
  describe(`histories on ${name} against the naive model`, { timeout: 2 * ENDS_AFTER_MS }, () => {
    it.each(SIZES.map((sizes) => [JSON.stringify(sizes), sizes] as const))(
      "give the same answers, and leave nothing, with %s",
      async (_, sizes) => {
        console.log(`Model on ${name}: ${numRuns} sequences, MODEL_SEED=${seed}`);
        const property = fc.asyncProperty(steps, (sequence) => checkSteps(harness, sizes, sequence));
        const limits = {
          timeout: HANGS_AFTER_MS,
          interruptAfterTimeLimit: ENDS_AFTER_MS,
          markInterruptAsFailure: true,
        };
        await fc.assert(property, { numRuns, seed, ...limits });
      },
    );
  });
}
