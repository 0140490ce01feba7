import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { seededRandom } from "../simulation/random.js";
import { freshDatabaseUrl, type MongoServer, startMongoServer } from "../support/mongo-server.js";
import { type Final, findViolations } from "./mongo-chaos-checker.js";
import { ChaosClient, readFinal, type Shared } from "./mongo-chaos-client.js";
import { Fleet } from "./mongo-chaos-fleet.js";
import { ChaosOwner } from "./mongo-chaos-owner.js";

const PROCESSES = 3;

export interface ChaosSizes {
  readonly clients: number;
  /** Of the clients, so many edit a session of their own; the others append to all the others. */
  readonly owners: number;
  readonly sessions: number;
  /** Of undisturbed work between two faults. */
  readonly restMs: number;
  readonly freezeMs: number;
}

/** Several services on one database, many clients, and one of the processes after the other killed or stopped, the database's too. */
export function describeChaos(title: string, sizes: ChaosSizes, timeoutMs: number): void {
  describe(title, async () => {
    const server = await startMongoServer();
    afterAll(() => server?.stop());

    it.skipIf(!server)("loses, doubles and moves nothing that was acknowledged", { timeout: timeoutMs }, async () => {
      const seed = Number(process.env.SEED) || Date.now() % 100_000;
      console.info(`chaos: SEED=${seed}`);
      const fleet = new Fleet(freshDatabaseUrl(server as MongoServer));
      await fleet.start(PROCESSES);
      try {
        await runChaos(fleet, server as MongoServer, sizes, seed);
      } finally {
        await fleet.stop();
      }
    });
  });
}

async function runChaos(fleet: Fleet, server: MongoServer, sizes: ChaosSizes, seed: number): Promise<void> {
  const shared: Shared = { fleet, sessions: [], history: [] };
  for (let i = 0; i < sizes.sessions - sizes.owners; i++) {
    const sessionId = `shared-${i}`;
    await fleet.settle(i % PROCESSES, "POST", "/session", { sessionId });
    shared.sessions.push(sessionId);
  }
  const owners = Array.from(
    { length: sizes.owners },
    (_, i) => new ChaosOwner(`owner${i}`, fleet, seededRandom(seed + i)),
  );
  const clients = Array.from(
    { length: sizes.clients - sizes.owners },
    (_, i) => new ChaosClient(`c${i}`, shared, seededRandom(seed + 100 + i)),
  );

  let isOver = false;
  const work = Promise.all([...owners, ...clients].map((client) => client.work(() => isOver)));
  const faults = disturb(fleet, server, sizes).finally(() => {
    isOver = true;
  });
  await Promise.all([work, faults]);

  for (const owner of owners) await owner.check();
  const finals = new Map<string, Final[]>();
  for (const session of shared.sessions) {
    finals.set(session, await Promise.all(Array.from({ length: PROCESSES }, (_, i) => readFinal(fleet, i, session))));
  }
  const acknowledged = shared.history.filter((one) => one.kind === "append" && one.position >= 0);
  console.info(`chaos: ${shared.history.length} calls noted, ${acknowledged.length} appends acknowledged`);
  expect(findViolations(shared.history, finals)).toEqual([]);
  expect(owners.flatMap(({ problems }) => problems)).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(sizes.clients);
}

/** One service after the other is killed; then one is stopped for a while, then the database, then the database is killed. */
async function disturb(fleet: Fleet, server: MongoServer, { restMs, freezeMs }: ChaosSizes): Promise<void> {
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
