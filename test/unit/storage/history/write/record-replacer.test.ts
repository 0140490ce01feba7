import { beforeEach, describe, expect, it } from "vitest";
import type { NextRecord } from "../../../../../src/storage/history/log-store.js";
import { cut, fork, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with four messages. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n", "o", "p");
});

describe("the list of what a record has dropped", () => {
  it("is limited, and keeps the earliest ranges", async () => {
    const limited = world.process({ maxDropped: 2 });
    await cut(limited, "a", "o");
    const [earliest] = world.record("a").dropped;
    for (const mid of ["n", "m"]) await cut(limited, "a", mid);
    expect(world.record("a").dropped).toHaveLength(2);
    expect(world.record("a").dropped[0]).toEqual(earliest);
  });

  it("does not grow when the session is deleted, because everything goes then", async () => {
    await cut(process, "a", "n");
    const { uid, dropped } = world.record("a");
    await process.deleteSession("a");
    expect(world.db.document(uid)?.record).toMatchObject({ deleted: true, dropped });
  });
});

describe("a session that releases its source", () => {
  beforeEach(async () => {
    await fork(process, "a", "b");
    expect(world.record("a").forks).toBe(1);
  });

  it("does so in a step of its own, once it no longer names any of the source's logs", async () => {
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

  it("releases it only once when another process changes the session before that step", async () => {
    const editor = world.process();
    editor.gates.close("replaceRecord", ([record]) => (record as NextRecord).sources.length === 0);
    const edited = editor.truncateMessages("b", null);
    await settle();
    await world.process().updateSession("b", { title: "new" });
    // The process that changed the title has already released the source.
    expect(world.record("a").forks).toBe(0);
    await editor.gates.open("replaceRecord");
    expect(await edited).toBe(4);
    expect(world.record("b")).toMatchObject({ sources: [], title: "new" });
    expect(world.record("a").forks).toBe(0);
  });
});
