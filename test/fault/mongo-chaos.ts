import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, it } from "vitest";
import { freshDatabaseUrl, type MongoServer, startMongoServer } from "../support/mongo-server.js";
import { type ChaosSizes, PROCESSES } from "./chaos.js";
import type { Fleet } from "./chaos-fleet.js";
import { runServices } from "./chaos-services.js";

export interface MongoChaosSizes extends ChaosSizes {
  /** How long clients work undisturbed between two faults. */
  readonly restMs: number;
  readonly freezeMs: number;
}

/**
 * Runs several services on one database with many clients, while one process after the other is killed or frozen,
 * including that of the database.
 */
export function describeChaos(title: string, sizes: MongoChaosSizes): void {
  describe(title, async () => {
    const server = await startMongoServer();
    afterAll(() => server?.stop());

    it.skipIf(!server)("loses, doubles and moves nothing that was acknowledged", async () => {
      const url = freshDatabaseUrl(server as MongoServer);
      await runServices(url, sizes, (fleet) => disturb(fleet, server as MongoServer, sizes));
    });
  });
}

/** Kills one service after the other, then freezes one for a while, then the database, and then kills the database. */
async function disturb(fleet: Fleet, server: MongoServer, { restMs, freezeMs }: MongoChaosSizes): Promise<void> {
  for (let index = 0; index < PROCESSES; index++) {
    await sleep(restMs);
    await fleet.killAndRestart(index);
  }
  await sleep(restMs);
  await fleet.freeze(0, freezeMs);
  await sleep(restMs);
  const { process } = server;
  if (!process) return;
  await process.freeze();
  await sleep(freezeMs);
  process.thaw();
  await sleep(restMs);
  await process.killAndRestart();
  await sleep(restMs);
}
