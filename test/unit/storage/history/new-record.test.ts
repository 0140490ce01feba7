import { beforeEach, describe, expect, it } from "vitest";
import { bytesOf } from "../../../../src/storage/history/edit/new-record.js";
import { sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { told, World } from "../../../simulation/world.js";

let world: World;

beforeEach(() => {
  world = new World("atomic");
});

it("a new session has nothing but its open log", async () => {
  await sessionOf(world);
  expect(world.record("a")).toMatchObject({
    ...{ segments: [], ancestry: [], namedLogs: [], drafts: [], dropped: [], edits: [], sources: [] },
    ...{ undo: null, origin: null, revision: 1, sessionRevision: 1, inheritedCount: 0 },
  });
});

describe("a child whose ancestry", () => {
  /** Makes a child under a limit of so many bytes more than the ancestry of a parent with these messages takes. */
  async function childOf(older: readonly string[], more: number, base = 0): Promise<string> {
    const process = await sessionOf(world, "m@10", "n@20", "o@30");
    for (const message of older) await process.say("a", message);
    await process.createSession({ sessionId: "first", parentId: "a" });
    const { ancestry } = world.record("first");
    expect(ancestry.length).toBe(older.length === 0 ? 1 : 3);
    const maxAncestryBytes = bytesOf(base === 0 ? ancestry : ancestry.slice(0, base)) + more;
    const made = world.process({ maxAncestryBytes }).createSession({ sessionId: "child", parentId: "a" });
    return told(made.then(({ parentId }) => parentId));
  }

  it.each([
    ["just fits leaves its parent as it is", ["x@15"], 0, 0, 3],
    ["does not fit has its parent merged", ["x@15"], -1, 0, 1],
    ["fits only in one piece has its parent merged", ["x@15"], 0, 1, 1],
  ])("%s", async (_what, older, more, base, segments) => {
    expect(await childOf(older, more, base)).toBe("a");
    expect(world.record("child").ancestry).toHaveLength(segments);
    expect(await world.process().ids("child")).toBe("m x n o");
  });

  it.each([
    ["of one piece does not fit is refused", [], -1, 0],
    ["does not fit in one piece either is refused", ["x@15"], -1, 1],
  ])("%s, and its parent stays as it is", async (_what, older, more, base) => {
    expect(await childOf(older, more, base)).toBe("failed_precondition");
    expect(world.record("a").segments).toHaveLength(older.length === 0 ? 0 : 3);
    expect(world.record("a").forks).toBe(1);
  });

  it("takes two pieces has its parent merged when they fit as one", async () => {
    const process = await sessionOf(world, "m", "n", "o");
    await process.truncateMessages("a", "n");
    await process.say("a", "x");
    await process.createSession({ sessionId: "first", parentId: "a" });
    const { ancestry } = world.record("first");
    expect(ancestry).toHaveLength(2);
    const limited = world.process({ maxAncestryBytes: bytesOf(ancestry) - 1 });
    await limited.createSession({ sessionId: "child", parentId: "a" });
    expect(world.record("child").ancestry).toHaveLength(1);
    expect(await world.process().ids("child")).toBe("m n x");
  });
});
