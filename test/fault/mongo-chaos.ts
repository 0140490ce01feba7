import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, it } from "vitest";
import { Child } from "../support/child.js";
import { freshDatabaseUrl, type MongoServer, startMongoServer } from "../support/mongo-server.js";
import { type ChaosSizes, PROCESSES, runChaos } from "./chaos.js";
import { Fleet } from "./chaos-fleet.js";

export interface MongoChaosSizes extends ChaosSizes {
  /** Of undisturbed work between two faults. */
  readonly restMs: number;
  readonly freezeMs: number;
}

/** Several services on one database, many clients, and one of the processes after the other killed or stopped, the database's too. */
export function describeChaos(title: string, sizes: MongoChaosSizes, timeoutMs: number): void {
  describe(title, async () => {
    const server = await startMongoServer();
    afterAll(() => server?.stop());

    it.skipIf(!server)("loses, doubles and moves nothing that was acknowledged", { timeout: timeoutMs }, async () => {
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
        // What a service logs about a call may arrive after its answer.
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

/** One service after the other is killed; then one is stopped for a while, then the database, then the database is killed. */
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
