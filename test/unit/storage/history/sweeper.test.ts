import { beforeEach, describe, expect, it } from "vitest";
import { cut, fork, markForLater, restore, sessionOf, sweepLater } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, World } from "../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with four messages. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n", "o", "p");
});

/** The only record of a session, a tombstone too. */
function recordOf(sessionId: string) {
  const [record] = world.db.records().filter((one) => one.sessionId === sessionId);
  if (record === undefined) throw new Error(`No record of ${sessionId}`);
  return record;
}

describe("a sweep", () => {
  it("marks no range that a fork has come to count on since the record was listed", async () => {
    await cut(process, "a", "o");
    const sweeper = world.process();
    sweeper.gates.close("replaceRecord");
    const swept = sweeper.sweep();
    await settle();
    await fork(process, "a", "b");
    await cut(process, "a", "m");
    await sweeper.gates.open("replaceRecord");
    await swept;
    const { dropped } = recordOf("a");
    expect(dropped).toContainEqual({ log: dropped[0]?.log, first: 2, last: 3 });
    expect(dropped.filter(({ markedAtMs }) => markedAtMs !== undefined)).toEqual([]);
  });

  it("leaves a copy that is under way its log when it sees it for the first time", async () => {
    const merger = world.process({ maxSegments: 1 });
    await process.updateMessage("a", "n", { parts: [{ id: "", type: "text", text: "new" }] });
    merger.gates.close("append");
    const answer = merger.say("a", "q");
    await settle();
    await world.process().sweep();
    const copies = recordOf("a").namedLogs.filter(({ purpose }) => purpose === "copy");
    expect(copies).toMatchObject([{ markedAtMs: world.nowMs }]);
    await merger.gates.open("append");
    expect(await answer).toBe("at 4");
    expect(await world.process().ids("a")).toBe("m n o p q");
  });

  it("marks no source of a tombstone that another fork counts on", async () => {
    for (const id of ["b", "c"]) await fork(process, "a", id);
    for (const id of ["a", "b"]) await process.deleteSession(id);
    await world.process().sweep();
    expect(recordOf("b").markedAtMs).toBe(world.nowMs);
    expect(recordOf("a").markedAtMs).toBeNull();
  });

  it("gives the record that it marks as being restored the next revision", async () => {
    const restorer = world.process();
    restorer.gates.close("publishRecord");
    const restored = restore(restorer, "r", "m");
    await settle();
    const { revision } = recordOf("r");
    await world.process().sweep();
    expect(recordOf("r")).toMatchObject({ revision: revision + 1, markedAtMs: world.nowMs });
    await restorer.gates.open("publishRecord");
    expect(await restored).toBe("restored");
  });

  it("clears away the log of a draft that has ended", async () => {
    await process.startDraft("a", { id: "d", role: "assistant", parts: [] });
    const [draft] = recordOf("a").drafts;
    await process.discardDraft("a", "d");
    await sweepLater(world);
    expect(recordOf("a").drafts).toEqual([]);
    expect(world.db.rows(draft?.log ?? "")).toEqual([]);
  });

  it("deletes all sessions that have expired, however many", async () => {
    const [count, sessions] = [101, () => world.db.records().filter(({ deleted }) => !deleted)];
    for (let i = 0; i < count; i++) await process.createSession({ sessionId: `e${i}`, expireTimeMicros: 10 });
    expect(sessions()).toHaveLength(count + 1);
    await world.process({ nowMicros: () => 11 }).sweep();
    expect(sessions()).toMatchObject([{ sessionId: "a" }]);
  });

  it("forgets a range once it has cleared it away, and no other", async () => {
    await cut(process, "a", "o");
    await markForLater(world);
    await cut(process, "a", "m");
    await world.process().sweep();
    const { dropped, segments } = recordOf("a");
    const ranges = dropped.filter(({ log }) => log === segments[0]?.log);
    expect(ranges).toMatchObject([{ first: 2, last: 3, markedAtMs: world.nowMs }]);
  });
});
