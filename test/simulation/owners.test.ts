import { expect, it } from "vitest";
import { failureOf } from "./replay.js";

/** Two owners, whose sessions change hands, on stores whose answers are lost and with processes that die. */
const SEEDS = 150;

it.each(["atomic", "weak"] as const)("callers see the sessions of their owner at every moment: %s", async (store) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const failure = await failureOf(seed, { store, profile: "owners" });
    if (failure !== null) expect.fail(failure);
  }
});
