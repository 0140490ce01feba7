import { afterAll, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { entries } from "../contract/log-store/fixtures.js";
import { databaseNameOf, openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";

const LOG = "u.1";
const BATCH = 250;

const server = await startMongoServer();
afterAll(() => server?.stop());

describe.skipIf(!server)("two sealers against two writers of batches of 250", () => {
  it("win, and return the end of whole batches", async () => {
    const database = await openMongoDatabase(server);
    const stores = Array.from({ length: 4 }, () => database.namespace("default"));
    const [one, two, three, four] = stores as [LogStore, LogStore, LogStore, LogStore];
    const accepted: number[] = [];
    const writers = [writeUntilSealed(one, "a", accepted), writeUntilSealed(two, "b", accepted)];
    await expect.poll(() => accepted.length).toBeGreaterThan(2);
    const counts = await Promise.all([three.seal(LOG), four.seal(LOG, accepted[0])]);
    await Promise.all(writers);

    expect(counts[0]).toBe(counts[1]);
    const count = Number(counts[0]);
    expect(Math.max(...accepted)).toBeLessThanOrEqual(count);
    expect(await one.tail(LOG)).toMatchObject({ last: { seq: count }, state: "sealed" });
    expect(await one.seal(LOG)).toBe(count);
    const whole = await one.readRange(LOG, 1, count);
    expect(whole.entries).toHaveLength(count);
    expect(whole.entries.at(-1)?.remaining).toBe(0);
    const messages = database.client.db(databaseNameOf(database)).collection("messages");
    const seals = await messages.countDocuments({ log: LOG, seal: true });
    // A sealer that tried each place in turn would chase the writers and leave many more seals.
    expect(seals).toBeLessThan(4 * BATCH);
    await database.close();
  });
});

/**
 * Appends batches as fast as it can, even after a batch that the other writer has not finished. Adds the end of each
 * batch that was stored whole to `accepted`.
 */
async function writeUntilSealed(store: LogStore, writer: string, accepted: number[]): Promise<void> {
  let seq = 1;
  for (let round = 0; ; round++) {
    const batch = entries(LOG, seq, seq + BATCH - 1, (at) => ({ id: `${writer} ${round} ${at}` }));
    const outcome = await store.append(LOG, seq, batch);
    if (outcome === BATCH) {
      accepted.push(seq + BATCH - 1);
      seq += BATCH;
      continue;
    }
    const { state, last } = await store.tail(LOG);
    if (state === "sealed") return;
    const { entries: unfinished } = await store.readRange(LOG, (last?.seq ?? 0) + 1, (last?.seq ?? 0) + BATCH);
    seq = (unfinished.at(-1)?.seq ?? last?.seq ?? 0) + 1;
  }
}
