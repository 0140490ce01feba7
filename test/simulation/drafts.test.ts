import { expect, it } from "vitest";
import { simulateDrafts } from "./drafts.js";

const SEEDS = Number(process.env.SIM_SEEDS ?? 300);

it.each(["atomic", "weak"] as const)(
  "a draft that two writers extend and others end or edit ends once and loses nothing, on the %s store",
  async (store) => {
    const ends = { finished: 0, discarded: 0 };
    let deaths = 0;
    let acknowledged = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        const report = await simulateDrafts(seed, store);
        ends[report.end]++;
        deaths += report.deaths;
        acknowledged += report.acknowledged;
      } catch (error) {
        throw new Error(`Seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // The runs must have included each of these at least once.
    expect(ends.finished).toBeGreaterThan(0);
    expect(ends.discarded).toBeGreaterThan(0);
    expect(deaths).toBeGreaterThan(0);
    expect(acknowledged).toBeGreaterThan(SEEDS);
  },
  120_000,
);
