import { expect, it } from "vitest";
import { simulateWatching } from "./watching.js";

const SEEDS = Number(process.env.SIM_SEEDS ?? 40);
const FIRST = Number(process.env.SIM_FIRST ?? 1);

it("readers of the feed that stop, resume and lose their process hold the list of the store in the end", async () => {
  let [deaths, events, held] = [0, 0, 0];
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    try {
      const report = await simulateWatching(seed);
      deaths += report.deaths;
      events += report.events;
      held += report.held;
    } catch (error) {
      throw new Error(`Seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  // The runs must have included each of these at least once.
  expect(deaths).toBeGreaterThan(0);
  expect(events).toBeGreaterThan(SEEDS);
  expect(held).toBeGreaterThan(SEEDS / 2);
});
