import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, it } from "vitest";
import { Child } from "../support/child.js";
import { freshDatabaseUrl, type MongoServer, startMongoServer } from "../support/mongo-server.js";
import { type ChaosSizes, PROCESSES, runChaos } from "./chaos.js";
import { Fleet } from "./chaos-fleet.js";

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
      const seed = Number(process.env.SEED) || Date.now() % 100_000;
      console.info(`chaos: SEED=${seed}`);
      const url = freshDatabaseUrl(server as MongoServer);
      const children: Child[] = [];
      const fleet = new Fleet(async () => {
        const served = await Child.serve("--storage", url, "--log-level", "error");
        children.push(served.child);
        return served;
      });
      try {
        await fleet.start(PROCESSES);
        await runChaos(fleet, sizes, seed, () => disturb(fleet, server as MongoServer, sizes));
      } catch (error) {
        // A service may write its log of a call after the answer, so each service must end before its log is read.
        for (const child of children) child.kill("SIGTERM");
        await Promise.all(children.map((child) => child.ended()));
        for (const { stderr } of children)
          if (stderr !== "") console.error("A service has logged:", stderr.slice(-10_000));
        throw error;
      } finally {
        await fleet.stop();
      }
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
