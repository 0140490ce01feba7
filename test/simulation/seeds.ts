import { describe, expect, it } from "vitest";
import { failureOf } from "./replay.js";
import type { StoreKind } from "./simulate.js";

/** Seeds of a run, when nothing else is asked for: with both stores 5,000. */
const DEFAULT_SEEDS = 2500;
const SEEDS_PER_CASE = 250;
const CASE_TIMEOUT_MS = 300_000;

/** `SIM_SEED=n` runs that seed alone, and `SIM_SEEDS=n` the first n. */
export function describeSeeds(store: StoreKind): void {
  const one = Number(process.env.SIM_SEED ?? 0);
  const count = Number(process.env.SIM_SEEDS ?? DEFAULT_SEEDS);

  describe(`processes that stop, die and lose answers on the ${store} store`, () => {
    if (one > 0) {
      it(`keep every history whole with seed ${one}`, async () => {
        expect(await failureOf(one, { store })).toBeNull();
      });
      return;
    }
    for (let first = 1; first <= count; first += SEEDS_PER_CASE) {
      const last = Math.min(first + SEEDS_PER_CASE - 1, count);
      it(
        `keep every history whole with the seeds ${first} to ${last}`,
        async () => {
          for (let seed = first; seed <= last; seed++) expect(await failureOf(seed, { store })).toBeNull();
        },
        CASE_TIMEOUT_MS,
      );
    }
  });
}
