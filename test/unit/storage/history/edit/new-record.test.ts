import { beforeEach, describe, expect, it } from "vitest";
import { bytesOf } from "../../../../../src/storage/history/edit/new-record.js";
import { sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { told, World } from "../../../../simulation/world.js";

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
  /**
   * Makes a child of a session with these older messages. The limit is `more` bytes above the size of the ancestry, or
   * of its first `base` segments when `base` is not 0. Resolves to the child's parent, or the code of the error.
   */
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
    ["just fits leaves its parent's segments as they are", ["x@15"], 0, 0, 3],
    ["does not fit has its parent merged", ["x@15"], -1, 0, 1],
    ["fits only as a single segment has its parent merged", ["x@15"], 0, 1, 1],
  ])("%s", async (_what, older, more, base, segments) => {
    expect(await childOf(older, more, base)).toBe("a");
    expect(world.record("child").ancestry).toHaveLength(segments);
    expect(await world.process().ids("child")).toBe("m x n o");
  });

  it.each([
    ["is a single segment that does not fit is refused", [], -1, 0],
    ["does not fit even as a single segment is refused", ["x@15"], -1, 1],
  ])("%s, and its parent's segments stay as they are", async (_what, older, more, base) => {
    expect(await childOf(older, more, base)).toBe("failed_precondition");
    expect(world.record("a").segments).toHaveLength(older.length === 0 ? 0 : 3);
    expect(world.record("a").forks).toBe(1);
  });

  it("has two segments that fit only as one has its parent merged", async () => {
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
