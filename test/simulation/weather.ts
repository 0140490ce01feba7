import { RIGHT_CLOCKS } from "./clocks.js";
import type { ProfileName } from "./profiles.js";
import type { Random } from "./random.js";
import type { Weather } from "./scheduler.js";

/** The minute, the ten minutes and the second that histories use, in virtual milliseconds. */
export const STALE_MS = 100;
export const SWEEP_AGE_MS = 1000;
export const TOUCH_DELAY_MS = 10;
/** The time after which callers give up: before 100 turns that each take longer than `SWEEP_AGE_MS`. */
export const DEADLINE_MS = 50 * SWEEP_AGE_MS;
/** The time without a delta after which a draft counts as abandoned. */
export const DRAFT_TIMEOUT_MS = 60;

/** How long processes stop: in terms of histories, from less than a minute to almost an hour. */
const STOPS_MS = [
  STALE_MS / 2,
  STALE_MS + 50,
  SWEEP_AGE_MS / 2,
  SWEEP_AGE_MS + 100,
  2 * SWEEP_AGE_MS + 300,
  5 * SWEEP_AGE_MS,
];

export function weatherOf(random: Random, profile: ProfileName): Weather {
  const isHard = profile === "forks" || profile === "half" || profile === "batches";
  const isHalf = profile === "half" || profile === "batches";
  const isLossy = profile === "records" || profile === "resent";
  const hasWrongClocks = profile === "clocks" || random.chance(0.3);
  const loss = isLossy ? random.pick([0.05, 0.15]) : random.pick([0, 0, 0.02, 0.06]);
  return {
    tickMs: random.pick(profile === "grace" ? [0, 1] : [0, 1, 3, 8]),
    leap: random.pick([0, 0, 0.01, 0.03]),
    stop: isHard ? random.pick([0, 0.02, 0.06, 0.1]) : random.pick([0, 0, 0.01, 0.04]),
    stopsMs: STOPS_MS,
    lateAnswer: random.pick([0, 0.2]),
    lateBirth: profile === "births" ? 0.9 : random.pick([0, 0.2]),
    clocks: hasWrongClocks
      ? { fault: random.pick([0.02, 0.1]), suspended: random.pick([0, 0.5, 1]), sizesMs: STOPS_MS }
      : RIGHT_CLOCKS,
    lostBirth: profile === "resent" ? 0.5 : loss,
    death: isHalf ? random.pick([0, 0.01, 0.06]) : random.pick([0, 0, 0.01, 0.04]),
    deaths: isHalf ? 4 : 2,
    loss,
    losses: isLossy ? 8 : 4,
  };
}
