import { describeChaos } from "./postgres-chaos.js";

describeChaos({
  clients: 8,
  owners: 3,
  uploaders: 2,
  sessions: 15,
  durationMs: 8000,
  restMs: 1500,
  freezesMs: [300, 1500],
});
