import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { collectionsOf } from "../../src/storage/mongodb/mongo-collections.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { databaseNameOf } from "../support/mongo-database.js";
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
      const uploaders = await runServices(url, sizes, (fleet) => disturb(fleet, server as MongoServer, sizes));
      await expectNothingLeft(url, uploaders);
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

/** Expects that sweeps leave the attachments that messages name, and neither rows nor pieces of others. */
async function expectNothingLeft(url: string, uploaders: Awaited<ReturnType<typeof runServices>>): Promise<void> {
  const database = await MongoLogDatabase.connect(url);
  const provider = new LogHistoryProvider(database.namespace("default"), { sweepAgeMs: 0, attachmentIdleMs: 0 });
  const { pieces, attachments } = collectionsOf(database.client.db(databaseNameOf(database)));
  try {
    const leftAfterSweep = async () => {
      await provider.sweep();
      const rows = await attachments.find({}, { projection: { attachment_id: 1 } }).toArray();
      const logs = new Set(rows.map(({ _id }) => _id));
      const stray = (await pieces.distinct("log")).filter((log) => !logs.has(log));
      return { named: rows.map(({ attachment_id }) => attachment_id).sort(), stray };
    };
    const named = uploaders.flatMap((one) => one.named).sort();
    expect(named.length).toBeGreaterThan(0);
    await expect.poll(leftAfterSweep).toEqual({ named, stray: [] });
  } finally {
    await provider.close();
    await database.close();
  }
}
