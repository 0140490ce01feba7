import { type ClockChaosSizes, describeClockChaos } from "./clock-chaos.js";

const SIZES: ClockChaosSizes = {
  clients: 12,
  owners: 4,
  sessions: 30,
  durationMs: 1_200_000,
  restMs: 4000,
  freezesMs: [2000, 12_000, 30_000],
  staleMs: 2000,
  sweepAgeMs: 20_000,
  sweepIntervalMs: 1000,
};

describeClockChaos("sqlite", SIZES);
describeClockChaos("mongodb", SIZES);
describeClockChaos("postgresql", SIZES);
