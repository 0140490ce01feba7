import { describe, expect, it } from "vitest";
import { beforeWriting, goOn, sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { World } from "../../../simulation/world.js";

const TWO_MINUTES_MS = 120_000;

describe("an append that is answered long after its head was read, on a store that does not check names,", () => {
  it("succeeds when its log is still open", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const answer = await beforeWriting(writer, "a", "n");
    world.nowMs += TWO_MINUTES_MS;
    await goOn(writer);
    expect(await answer.of).toBe("at 1");
    expect(await world.process().ids("a")).toBe("m n");
  });

  it("succeeds when its log was closed since, and shows it as the first message", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world);
    const answer = await beforeWriting(writer, "a", "m");
    world.nowMs += TWO_MINUTES_MS;
    writer.gates.close("answer of insert");
    await goOn(writer);
    expect(await world.process({ maxLogEntries: 1 }).say("a", "n")).toBe("at 1");
    await writer.gates.open("answer of insert");
    expect(await answer.of).toBe("at 0");
    expect(await world.process().ids("a")).toBe("m n");
  });

  it("says that the session is gone when it has stored nothing", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const answer = await beforeWriting(writer, "a", "n");
    await world.process().say("a", "x");
    await world.process().deleteSession("a");
    world.nowMs += TWO_MINUTES_MS;
    await goOn(writer);
    expect(await answer.of).toBe("not_found");
  });
});

it("an append of an older message leaves the revision that callers see", async () => {
  const world = new World("atomic");
  const process = await sessionOf(world, "m@10", "n@30");
  const { sessionRevision } = world.record("a");
  expect(await process.say("a", "o@20")).toBe("at 1");
  expect(world.record("a").sessionRevision).toBe(sessionRevision);
});
