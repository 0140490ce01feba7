import { beforeEach, expect, it } from "vitest";
import { clearIfOrphaned } from "../../../../../src/storage/history/write/orphans.js";
import { sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;
/** The store's time before the write that may have left entries behind. */
let sinceMs: number;

/** A session "a" with three messages, of which one call deletes two, and a write that took two minutes. */
beforeEach(async () => {
  world = new World("weak");
  await sessionOf(world, "m", "n", "o");
  process = world.process({ chunk: 2 });
  await process.ids("a");
  sinceMs = process.context.knownMs();
  world.nowMs += 120_000;
  await process.ids("a");
});

/** Deletes the session and its record, but not its messages. */
async function lose(): Promise<{ readonly uid: string; readonly log: string }> {
  const record = world.record("a");
  await world.process().deleteSession("a");
  expect(world.db.deleteRecord(record.uid)).toBe(true);
  return record;
}

const messagesLeft = (log: string) => world.db.rows(log).filter(({ entry }) => entry !== null).length;

it("everything that a slow write left is deleted when its session is gone", async () => {
  const { uid, log } = await lose();
  await clearIfOrphaned(process.context, sinceMs, uid);
  expect(world.db.rows(log)).toEqual([]);
});

it("what a slow write left stays as long as there is a record of the session", async () => {
  const { uid, log } = world.record("a");
  await process.deleteSession("a");
  await clearIfOrphaned(process.context, sinceMs, uid);
  expect(messagesLeft(log)).toBe(3);
});

it("nothing is deleted after a quick write", async () => {
  const { uid, log } = await lose();
  await clearIfOrphaned(process.context, process.context.knownMs(), uid);
  expect(messagesLeft(log)).toBe(3);
});

it.each([
  ["deleted", [], "m o"],
  ["kept", ["older"], "m n o"],
] as const)(
  "what a slow write left in a log beside the open one is %s when the record names %j",
  async (_, named, left) => {
    const record = world.record("a");
    const side = `${record.uid}.side`;
    for (const row of world.db.rows(record.log)) world.db.insert(side, row);
    const namedLogs = named.map((purpose) => ({ log: side, purpose }));
    world.db.replaceRecord({ ...record, namedLogs, revision: record.revision + 1 }, record.revision, {});
    await clearIfOrphaned(process.context, sinceMs, record.uid, undefined, { log: side, first: 2, last: 2 });
    expect(world.db.rows(side).map(({ id }) => id)).toEqual(left.split(" "));
    expect(messagesLeft(record.log)).toBe(3);
  },
);
