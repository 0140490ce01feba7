import { beforeEach, describe, expect, it } from "vitest";
import type { NextRecord } from "../../../../src/storage/history/log-store.js";
import { cut, fork, sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, World } from "../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with four messages. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n", "o", "p");
});

describe("what a record has dropped", () => {
  it("is remembered up to a limit, the earliest first", async () => {
    const limited = world.process({ maxDropped: 2 });
    await cut(limited, "a", "o");
    const [earliest] = world.record("a").dropped;
    for (const mid of ["n", "m"]) await cut(limited, "a", mid);
    expect(world.record("a").dropped).toHaveLength(2);
    expect(world.record("a").dropped[0]).toEqual(earliest);
  });

  it("is not added to when it is deleted, because all of it goes", async () => {
    await cut(process, "a", "n");
    const { uid, dropped } = world.record("a");
    await process.deleteSession("a");
    expect(world.db.document(uid)?.record).toMatchObject({ deleted: true, dropped });
  });
});

describe("a session that lets go of its source", () => {
  beforeEach(async () => {
    await fork(process, "a", "b");
    expect(world.record("a").forks).toBe(1);
  });

  it("does so once it names nothing of it any more, in a step of its own", async () => {
    await cut(process, "b", "m");
    const { revision } = world.record("b");
    await process.truncateMessages("b", null);
    expect(world.record("b")).toMatchObject({ sources: [], revision: revision + 2 });
    expect(world.record("a").forks).toBe(0);
    await process.say("b", "x");
    await cut(process, "b", "x");
    await process.truncateMessages("b", null);
    expect(world.record("b").revision).toBe(revision + 3);
  });

  it("keeps it, and counts as its fork, when another process changes the session before that step", async () => {
    const editor = world.process();
    editor.gates.close("replaceRecord", ([record]) => (record as NextRecord).sources.length === 0);
    const edited = editor.truncateMessages("b", null);
    await settle();
    await world.process().updateSession("b", { title: "new" });
    // The process that changed the title has let go of the source.
    expect(world.record("a").forks).toBe(0);
    await editor.gates.open("replaceRecord");
    expect(await edited).toBe(4);
    expect(world.record("b")).toMatchObject({ sources: [], title: "new" });
    expect(world.record("a").forks).toBe(0);
  });
});
