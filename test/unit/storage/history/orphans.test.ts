import { beforeEach, expect, it } from "vitest";
import { clearIfOrphaned } from "../../../../src/storage/history/write/orphans.js";
import { sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, World } from "../../../simulation/world.js";

let world: World;
let process: Process;
/** When the write that may have left something began. */
let sinceMs: number;

/** A session "a" with three messages, two of which one delete takes, and a write that took two minutes. */
beforeEach(async () => {
  world = new World("weak");
  await sessionOf(world, "m", "n", "o");
  process = world.process({ chunk: 2 });
  await process.ids("a");
  sinceMs = process.context.knownMs();
  world.nowMs += 120_000;
  await process.ids("a");
});

/** Deletes the session, its record included, but not its messages. */
async function lose(): Promise<{ readonly uid: string; readonly log: string }> {
  const record = world.record("a");
  await world.process().deleteSession("a");
  expect(world.db.deleteRecord(record.uid)).toBe(true);
  return record;
}

const messagesLeft = (log: string) => world.db.rows(log).filter(({ entry }) => entry !== null).length;

it("what a slow write left is deleted as a whole when its session is gone", async () => {
  const { uid, log } = await lose();
  await clearIfOrphaned(process.context, sinceMs, uid);
  expect(world.db.rows(log)).toEqual([]);
});

it("what a slow write left stays while there is a record of the session", async () => {
  const { uid, log } = world.record("a");
  await process.deleteSession("a");
  await clearIfOrphaned(process.context, sinceMs, uid);
  expect(messagesLeft(log)).toBe(3);
});

it("nothing is looked up after a write that was quick", async () => {
  const { uid, log } = await lose();
  await clearIfOrphaned(process.context, process.context.knownMs(), uid);
  expect(messagesLeft(log)).toBe(3);
});
