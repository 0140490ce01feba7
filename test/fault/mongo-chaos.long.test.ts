import { describeChaos } from "./mongo-chaos.js";

describeChaos("three services on one database, a minute", {
  clients: 16,
  owners: 5,
  sessions: 50,
  uploaders: 2,
  restMs: 6000,
  freezeMs: 5000,
});
