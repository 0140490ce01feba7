import { beforeEach, describe, expect, it } from "vitest";
import { sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with nine messages in one log. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `m${n}@${n}0`));
});

describe("an update of a message", () => {
  it.each([
    ["may use the last segment that is allowed", { before: ["m3"], maxSegments: 5, segments: 5 }],
    [
      "merges neighbours when it needs one segment more than is allowed",
      { before: ["m3"], maxSegments: 4, segments: 3 },
    ],
    ["merges two segments when it needs more", { before: ["m9"], maxSegments: 3, segments: 3 }],
    ["splits a history of one segment whatever is allowed", { before: [], maxSegments: 2, segments: 3 }],
  ])("%s", async (_what, { before, maxSegments, segments }) => {
    for (const id of before) await process.updateMessage("a", id, { role: "new" }, {});
    expect(world.record("a").segments).toHaveLength(before.includes("m3") ? 3 : before.length * 2);
    await world.process({ maxSegments, mergeSegments: 3 }).updateMessage("a", "m6", { role: "new" }, {});
    expect(world.record("a").segments).toHaveLength(segments);
    expect(await process.ids("a")).toBe("m1 m2 m3 m4 m5 m6 m7 m8 m9");
    const roles = (await process.getSessionMessages("a")).filter(({ role }) => role === "new").map(({ id }) => id);
    expect(roles).toEqual([...before, "m6"].sort());
  });
});

describe("a delete of a message", () => {
  it.each([
    ["in the middle", "m5", 90],
    ["at the end", "m9", 80],
  ])(
    "%s keeps the timestamp of the last message, which decides which messages are older",
    async (_where, mid, lastTimestampMicros) => {
      await process.deleteMessage("a", mid, {});
      expect(world.record("a").lastTimestampMicros).toBe(lastTimestampMicros);
    },
  );

  it("leaves an empty history when there is no other message", async () => {
    await process.truncateMessages("a", "m1");
    await process.deleteMessage("a", "m1", {});
    expect(await process.say("a", "x@-5")).toBe("at 0");
    expect(await process.ids("a")).toBe("x");
  });
});
