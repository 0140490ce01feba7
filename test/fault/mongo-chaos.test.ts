import { describeChaos } from "./mongo-chaos.js";

describeChaos("three services on one database, ten seconds", {
  clients: 8,
  owners: 3,
  sessions: 15,
  uploaders: 2,
  restMs: 800,
  freezeMs: 1000,
});
