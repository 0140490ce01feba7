import { describe, expect, it } from "vitest";
import type { ProfileName } from "./profiles.js";
import { failureOf } from "./replay.js";
import type { SimReport, StoreKind } from "./sim-run.js";

const SEEDS_PER_CASE = 250;
const CASE_TIMEOUT_MS = 300_000;
/** The number of seeds of a case for which the search for a legal order may be given up. */
const MOST_UNDECIDED = 5;

/**
 * Runs the first `seeds` seeds on a store. `SIM_SEED=n` runs only that one, `SIM_SEEDS=n` the first n, and
 * `SIM_PROFILE=name` all of them with one profile.
 */
export function describeSeeds(store: StoreKind, seeds: number): void {
  const options = { store, profile: process.env.SIM_PROFILE as ProfileName | undefined };
  const one = Number(process.env.SIM_SEED ?? 0);
  const count = Number(process.env.SIM_SEEDS ?? seeds);

  describe(`processes that stop, die and lose answers on the ${store} store`, () => {
    if (one > 0) {
      it(`keep every history correct with seed ${one}`, async () => {
        const failure = await failureOf(one, options);
        if (failure !== null) expect.fail(failure);
      });
      return;
    }
    for (let first = 1; first <= count; first += SEEDS_PER_CASE) {
      const last = Math.min(first + SEEDS_PER_CASE - 1, count);
      it(
        `keep every history correct with the seeds ${first} to ${last}`,
        async () => {
          const reports: SimReport[] = [];
          for (let seed = first; seed <= last; seed++) {
            const failure = await failureOf(seed, options, (report) => reports.push(report));
            if (failure !== null) expect.fail(failure);
          }
          const total = (of: "deaths" | "losses" | "followed" | "listed" | "undecided") =>
            reports.reduce((sum, report) => sum + report[of], 0);
          expect(total("undecided")).toBeLessThanOrEqual(MOST_UNDECIDED);
          // So many seeds with all profiles must have included each of these.
          if (reports.length < SEEDS_PER_CASE || options.profile) return;
          for (const of of ["deaths", "losses", "followed", "listed"] as const) {
            expect(total(of), of).toBeGreaterThan(0);
          }
        },
        CASE_TIMEOUT_MS,
      );
    }
  });
}
