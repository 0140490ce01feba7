import { describeChaos } from "./postgres-chaos.js";

const minutes = Number(process.env.CHAOS_MINUTES ?? 20);

describeChaos({
  clients: 14,
  owners: 5,
  uploaders: 3,
  sessions: 30,
  durationMs: minutes * 60_000,
  restMs: 4000,
  freezesMs: [500, 2000, 12_000],
});
