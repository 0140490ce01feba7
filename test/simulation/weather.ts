import type { ProfileName } from "./profiles.js";
import type { Random } from "./random.js";
import type { Weather } from "./scheduler.js";

/** The minute and the ten minutes of history.md, in virtual milliseconds. */
export const STALE_MS = 100;
export const SWEEP_AGE_MS = 1000;

export function weatherOf(random: Random, profile: ProfileName): Weather {
  const isHard = profile === "forks" || profile === "half" || profile === "batches";
  const isHalf = profile === "half" || profile === "batches";
  return {
    tickMs: random.pick([0, 1, 3, 8]),
    leap: random.pick([0, 0, 0.01, 0.03]),
    stop: isHard ? random.pick([0, 0.02, 0.06, 0.1]) : random.pick([0, 0, 0.01, 0.04]),
    stopsMs: [
      STALE_MS / 2,
      STALE_MS + 50,
      SWEEP_AGE_MS / 2,
      SWEEP_AGE_MS + 100,
      2 * SWEEP_AGE_MS + 300,
      5 * SWEEP_AGE_MS,
    ],
    lateAnswer: random.pick([0, 0.2]),
    death: isHalf ? random.pick([0, 0.01, 0.06]) : random.pick([0, 0, 0.01, 0.04]),
    deaths: isHalf ? 4 : 2,
    loss: profile === "records" ? random.pick([0.05, 0.15]) : random.pick([0, 0, 0.02, 0.06]),
    losses: profile === "records" ? 8 : 4,
  };
}
