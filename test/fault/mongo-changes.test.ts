import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { created, entry, fill, replaced, T0 } from "../contract/log-store/fixtures.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();
afterAll(() => server?.stop());

/** Two database handles act like two processes. */
describe.skipIf(!server)("subscribe on MongoDB", () => {
  let ours: MongoLogDatabase;
  let theirs: MongoLogDatabase;
  let own: LogStore;
  let other: LogStore;
  let told: string[];
  let end: () => Promise<void>;

  beforeEach(async () => {
    const url = freshDatabaseUrl(server ?? { uri: "" });
    [ours, theirs] = await Promise.all([MongoLogDatabase.connect(url), MongoLogDatabase.connect(url)]);
    [own, other] = [ours.namespace("default"), theirs.namespace("default")];
    told = [];
    end = (await own.subscribe?.((uid) => told.push(uid))) as () => Promise<void>;
  });
  afterEach(async () => {
    await end();
    await ours.close();
    await theirs.close();
  });

  it("reports what other processes append, seal, create and replace", async () => {
    const record = await created(other, "made");
    await expect.poll(() => told).toEqual(["made"]);
    await replaced(other, record, { title: "changed" });
    await expect.poll(() => told).toEqual(["made", "made"]);
    // One event is for the record that names the log, and one for each message.
    await fill(other, "written.1", 1, 3);
    await expect.poll(() => told.slice(2)).toEqual(["written", "written", "written", "written"]);
    await other.seal("sealed.1", 0);
    await expect.poll(() => told.at(-1)).toBe("sealed");
  });

  it("reports nothing that this process wrote, and no changes of forks and update times", async () => {
    const record = await created(own, "own");
    await fill(own, "own.1", 1, 3);
    await replaced(own, record, { title: "changed" });
    await other.addFork("own", 1);
    await other.touchRecords?.(new Map([["own", T0 + 9]]));
    await other.append("last.1", 1, [entry("last.1", 1)]);
    await expect.poll(() => told).toContain("last");
    expect(told).toEqual(["last"]);
  });

  it("reports to every listener until it ends", async () => {
    const more: string[] = [];
    const endMore = await own.subscribe?.((uid) => more.push(uid));
    await other.append("a.1", 1, [entry("a.1", 1)]);
    await expect.poll(() => [told, more]).toEqual([["a"], ["a"]]);
    await endMore?.();
    await other.append("b.1", 1, [entry("b.1", 1)]);
    await expect.poll(() => told).toEqual(["a", "b"]);
    expect(more).toEqual(["a"]);
  });

  it("starts again after all listeners have ended", async () => {
    await end();
    await other.append("unheard.1", 1, [entry("unheard.1", 1)]);
    expect(told).toEqual([]);
    end = (await own.subscribe?.((uid) => told.push(uid))) as () => Promise<void>;
    await other.append("heard.1", 1, [entry("heard.1", 1)]);
    await expect.poll(() => told.at(-1)).toBe("heard");
  });

  it("continues after the server was killed and restarted", async (context) => {
    if (!server?.process) return context.skip("the server is not one that these tests started");
    await other.append("before.1", 1, [entry("before.1", 1)]);
    await expect.poll(() => told).toEqual(["before"]);
    await server.process.killAndRestart();
    await other.append("after.1", 1, [entry("after.1", 1)]);
    await expect.poll(() => told).toEqual(["before", "after"]);
  });
});
