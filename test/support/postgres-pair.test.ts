import pg from "pg";
import { afterEach, expect, it } from "vitest";
import { type PostgresPair, startPostgresPair } from "./postgres-pair.js";
import { query } from "./postgres-server.js";

const WAITING = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

let pair: PostgresPair | null = null;
afterEach(() => pair?.stop());

it("a synchronous standby has what the primary has committed before it was killed", async ({ skip }) => {
  pair = await startPostgresPair({ synchronous: true });
  if (pair === null) return skip();
  const { primary, standby, address, url } = pair;
  await query(url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)");
  await expect(query(standby.url, "INSERT INTO kept VALUES (2)")).rejects.toMatchObject({ code: "25006" });
  await primary.process.kill();
  await expect(query(url, "SELECT 1")).rejects.toThrow();
  await pair.promote();
  address.moveTo(standby.process.port);
  expect(await query(url, "INSERT INTO kept VALUES (3)", "SELECT n FROM kept ORDER BY n")).toEqual([
    { n: 1 },
    { n: 3 },
  ]);
});

it("commits wait for a synchronous standby that is cut off", async ({ skip }) => {
  pair = await startPostgresPair({ synchronous: true });
  if (pair === null) return skip();
  await query(pair.url, "CREATE TABLE kept (n int)");
  await pair.cutReplication();
  const committed = query(pair.url, "INSERT INTO kept VALUES (1)");
  await expect.poll(() => query(pair!.primary.url, WAITING)).toHaveLength(1);
  await pair.resumeReplication();
  await committed;
});

it("an asynchronous standby lacks what was committed while it was cut off, and catches up", async ({ skip }) => {
  pair = await startPostgresPair({ synchronous: false });
  if (pair === null) return skip();
  const { primary, standby, url } = pair;
  await query(url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)");
  const inStandby = () => query(standby.url, "SELECT n FROM kept ORDER BY n");
  await expect.poll(inStandby).toEqual([{ n: 1 }]);
  await pair.cutReplication();
  await query(url, "INSERT INTO kept VALUES (2)");
  await pair.resumeReplication();
  await expect.poll(inStandby).toEqual([{ n: 1 }, { n: 2 }]);
  await pair.cutReplication();
  await query(url, "INSERT INTO kept VALUES (3)");
  await primary.process.kill();
  await pair.promote();
  expect(await query(standby.url, "INSERT INTO kept VALUES (4)", "SELECT n FROM kept ORDER BY n")).toEqual([
    { n: 1 },
    { n: 2 },
    { n: 4 },
  ]);
});

it("its address resets connections, and leads new ones elsewhere while others stay", async ({ skip }) => {
  pair = await startPostgresPair({ synchronous: false });
  if (pair === null) return skip();
  const [open, moved] = [new pg.Client(pair.url), new pg.Client(pair.url)];
  const lost = new Promise((resolve) => open.on("error", resolve));
  await open.connect();
  pair.address.moveTo(pair.standby.process.port);
  await moved.connect();
  const inRecovery = async (client: pg.Client) => (await client.query("SELECT pg_is_in_recovery() AS is")).rows[0]?.is;
  expect([await inRecovery(open), await inRecovery(moved)]).toEqual([false, true]);
  moved.on("error", () => {});
  pair.address.reset();
  await lost;
});
