import { beforeEach, describe, expect, it } from "vitest";
import type { NextRecord } from "../../../../../src/storage/history/log-store.js";
import { cut, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with the messages m and n, and a session "t" with x and y. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n");
  await process.createSession({ sessionId: "t" });
  await process.say("t", "x", "y");
});

function copy(copier: Process, source: string, target: string): Promise<string> {
  return told(
    copier.forkConversation(source, target, { as: "copy" }).then(({ copiedCount }) => `copied ${copiedCount}`),
  );
}

const holdsNewMessages = ([record]: readonly unknown[]) => (record as NextRecord).segments.length > 0;

describe("a copy of nothing", () => {
  it.each(["e", "t"])("leaves its target %s as it was", async (target) => {
    await process.createSession({ sessionId: "e" });
    await process.createSession({ sessionId: "empty" });
    const before = world.record(target);
    expect(await copy(process, "empty", target)).toBe("copied 0");
    expect(world.record(target)).toEqual(before);
    expect(world.record("empty").forks).toBe(0);
  });

  it("opens the log that it has sealed when the source is emptied before the copy is stored", async () => {
    const copier = world.process();
    copier.gates.close("replaceRecord", holdsNewMessages);
    const copied = copy(copier, "a", "t");
    await settle();
    await process.truncateMessages("a", null);
    await process.updateSession("t", { title: "new" });
    await copier.gates.open("replaceRecord");
    expect(await copied).toBe("copied 0");
    const before = world.nowMs;
    expect(await world.process({ editorWaitMs: 5000 }).say("t", "z")).toBe("at 2");
    expect(world.nowMs).toBe(before);
  });
});

describe("a copy whose messages are all in the target", () => {
  it("copies those that are deleted from the target while it looks them up", async () => {
    await process.say("t", "m", "n", "z");
    await cut(process, "t", "n");
    const copier = world.process();
    copier.gates.close("findById");
    const copied = copy(copier, "a", "t");
    await settle();
    await cut(process, "t", "m");
    await copier.gates.open("findById");
    expect(await copied).toBe("copied 1");
    expect((await process.ids("t")).split(" ").sort()).toEqual(["m", "n", "x", "y"]);
  });
});

describe("a copy into a session whose title changes", () => {
  it.each([
    ["while the log for the copies gets its name", (record: NextRecord) => record.namedLogs.length > 0],
    ["before the copies get their places", (record: NextRecord) => record.namedLogs.length === 0],
  ])("%s is made, and written to one log", async (_when, isHeld) => {
    const copier = world.process();
    const written = new Set<unknown>();
    copier.gates.close("append", ([log]) => {
      written.add(log);
      return false;
    });
    copier.gates.close("replaceRecord", ([record]) => isHeld(record as NextRecord));
    const copied = copy(copier, "a", "t");
    await settle();
    await process.updateSession("t", { title: "new" });
    await copier.gates.open("replaceRecord");
    expect(await copied).toBe("copied 2");
    expect(written.size).toBe(1);
    expect((await process.ids("t")).split(" ").sort()).toEqual(["m", "n", "x", "y"]);
    expect(world.record("t").title).toBe("new");
  });
});

it("a copy that fails answers with the error even when it has taken longer than a head may be used", async () => {
  const slow = new World("weak");
  const maker = await sessionOf(slow, "m", "n");
  await maker.createSession({ sessionId: "t" });
  await maker.say("t", "x");
  const copier = slow.process();
  copier.gates.close("readRange");
  const copied = copy(copier, "a", "t");
  await settle();
  slow.nowMs += 120_000;
  await copier.gates.letOne("readRange");
  copier.gates.loseNext("readRange");
  await copier.gates.open("readRange");
  expect(await copied).toBe("unavailable");
});
