import { expect, it } from "vitest";
import { simulateKeeping } from "./keeping.js";

const SEEDS = Number(process.env.SIM_SEEDS ?? 60);
const FIRST = Number(process.env.SIM_FIRST ?? 1);

it.each(["atomic", "weak"] as const)(
  "usage is exact, and no message and no annotation is lost, while sessions come and go, on the %s store",
  async (store) => {
    let [deaths, compared, broughtBack, annotations] = [0, 0, 0, 0];
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      try {
        const report = await simulateKeeping(seed, store);
        deaths += report.deaths;
        compared += report.compared;
        broughtBack += report.broughtBack;
        annotations += report.annotations;
      } catch (error) {
        throw new Error(`Seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // The runs must have included each of these at least once.
    expect(deaths).toBeGreaterThan(0);
    expect(compared).toBeGreaterThan(0);
    expect(broughtBack).toBeGreaterThan(0);
    expect(annotations).toBeGreaterThan(0);
  },
);
