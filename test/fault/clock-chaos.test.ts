import { type ClockChaosSizes, describeClockChaos } from "./clock-chaos.js";

const SIZES: ClockChaosSizes = {
  clients: 8,
  owners: 3,
  sessions: 15,
  durationMs: 4000,
  restMs: 800,
  freezesMs: [300, 2000],
  staleMs: 150,
  sweepAgeMs: 1500,
  sweepIntervalMs: 200,
};

describeClockChaos("sqlite", SIZES);
describeClockChaos("mongodb", SIZES);
describeClockChaos("postgresql", SIZES);
