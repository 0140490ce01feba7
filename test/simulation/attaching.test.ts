import { expect, it } from "vitest";
import { simulateAttaching } from "./attaching.js";

const SEEDS = Number(process.env.SIM_SEEDS ?? 150);
const FIRST = Number(process.env.SIM_FIRST ?? 1);

it.each(["atomic", "weak"] as const)(
  "no message is left without its bytes, and no bytes without a message, on the %s store",
  async (store) => {
    let [deaths, shown, removed] = [0, 0, 0];
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      try {
        const report = await simulateAttaching(seed, store);
        deaths += report.deaths;
        shown += report.shown;
        removed += report.removed;
      } catch (error) {
        throw new Error(`Seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // The runs must have included each of these at least once.
    expect(deaths).toBeGreaterThan(0);
    expect(shown).toBeGreaterThan(SEEDS);
    expect(removed).toBeGreaterThan(0);
  },
);
