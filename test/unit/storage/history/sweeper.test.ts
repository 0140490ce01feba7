import { beforeEach, describe, expect, it } from "vitest";
import { cut, fork, markForLater, restore, sessionOf, sweepLater } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, TEN_MINUTES_MS, World } from "../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with four messages. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n", "o", "p");
});

/** The only record with this session id, which may be a tombstone. */
function recordOf(sessionId: string) {
  const [record] = world.db.records().filter((one) => one.sessionId === sessionId);
  if (record === undefined) throw new Error(`No record of ${sessionId}`);
  return record;
}

describe("a sweep", () => {
  it("marks no range when its session was forked since the record was listed", async () => {
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

  it("keeps the log of a copy that is under way when it sees it for the first time", async () => {
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

  it("does not mark a source of a tombstone when it has another fork", async () => {
    for (const id of ["b", "c"]) await fork(process, "a", id);
    for (const id of ["a", "b"]) await process.deleteSession(id);
    await world.process().sweep();
    expect(recordOf("b").markedAtMs).toBe(world.nowMs);
    expect(recordOf("a").markedAtMs).toBeNull();
  });

  it("gives a record that is being restored the next revision when it marks it", async () => {
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

  it("removes the log of a draft that has ended", async () => {
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

  it("forgets a range that it has removed, and no other", async () => {
    await cut(process, "a", "o");
    await markForLater(world);
    await cut(process, "a", "m");
    await world.process().sweep();
    const { dropped, segments } = recordOf("a");
    const ranges = dropped.filter(({ log }) => log === segments[0]?.log);
    expect(ranges).toMatchObject([{ first: 2, last: 3, markedAtMs: world.nowMs }]);
  });

  it("marks a whole chain of deleted sessions whose only forks are deleted, too", async () => {
    await fork(process, "a", "b");
    await fork(process, "b", "c");
    for (const id of ["a", "b", "c"]) await process.deleteSession(id);
    await world.process().sweep();
    expect(["a", "b", "c"].map((id) => recordOf(id).markedAtMs)).toEqual(Array(3).fill(world.nowMs));
  });

  it("removes what was marked exactly ten minutes ago, and counts it once", async () => {
    await cut(process, "a", "o");
    await world.process().sweep();
    world.nowMs += TEN_MINUTES_MS;
    expect(await world.process().sweep()).toMatchObject({ ranges: 1 });
    expect(world.db.rows(recordOf("a").segments[0]?.log ?? "").map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("marks at its next attempt when the record changes during the first", async () => {
    await cut(process, "a", "o");
    await markForLater(world);
    await cut(process, "a", "m");
    const sweeper = world.process();
    sweeper.gates.close("replaceRecord");
    const swept = sweeper.sweep();
    await settle();
    await process.updateSession("a", { title: "new" });
    const { revision } = recordOf("a");
    await sweeper.gates.open("replaceRecord");
    expect(await swept).toMatchObject({ ranges: 1 });
    const { title, dropped, revision: after } = recordOf("a");
    expect([title, after]).toEqual(["new", revision + 1]);
    expect(dropped.map(({ markedAtMs }) => markedAtMs)).toEqual([world.nowMs, world.nowMs].slice(0, dropped.length));
  });

  it.each([
    ["deleted", 1, async () => {}],
    [
      "deleted and swept by another process",
      0,
      async () => {
        world.nowMs += TEN_MINUTES_MS;
        await sweepLater(world);
      },
    ],
  ])(
    "does no more than mark the tombstone of a session that was %s while it marked its ranges",
    async (_, count, more) => {
      await cut(process, "a", "o");
      const sweeper = world.process();
      sweeper.gates.close("replaceRecord");
      const swept = sweeper.sweep();
      await settle();
      await process.deleteSession("a");
      const { revision } = recordOf("a");
      await more();
      await sweeper.gates.open("replaceRecord");
      expect(await swept).toMatchObject({ ranges: 0 });
      const left = world.db.records().filter((one) => one.sessionId === "a");
      expect(left).toMatchObject(Array(count).fill({ revision: revision + 1, markedAtMs: world.nowMs }));
    },
  );

  it("does not confuse ranges of different logs", async () => {
    await cut(process, "a", "n");
    await markForLater(world);
    await process.say("a", "q", "r", "s");
    await cut(process, "a", "r");
    const { dropped } = recordOf("a");
    expect(dropped.map(({ first }) => first)).toEqual([3, 3]);
    await world.process().sweep();
    expect(recordOf("a").dropped).toMatchObject([{ log: dropped[1]?.log, first: 3, markedAtMs: world.nowMs }]);
  });

  it("ends a restore that has been abandoned for exactly a day", async () => {
    const restorer = world.process();
    restorer.gates.close("publishRecord");
    void restore(restorer, "r", "m");
    await settle();
    await world.process().sweep();
    world.nowMs += 144 * TEN_MINUTES_MS - 1;
    await world.process().sweep();
    expect(recordOf("r").restoring).toBe(true);
    world.nowMs += 1;
    await world.process().sweep();
    expect(recordOf("r").restoring).toBeUndefined();
  });

  it("is not held up by any number of restores that wait to be abandoned", async () => {
    const restorer = world.process();
    restorer.gates.close("publishRecord");
    for (let i = 0; i < 101; i++) void restore(restorer, `r${i}`, "m");
    await settle();
    await world.process().sweep();
    await process.deleteSession("a");
    for (let i = 0; i < 2; i++) {
      world.nowMs += TEN_MINUTES_MS;
      await world.process().sweep();
    }
    expect(world.db.records().filter(({ sessionId }) => sessionId === "a")).toEqual([]);
    expect(world.db.records()).toHaveLength(101);
  });

  it("lets other work run while it deletes many entries", async () => {
    await process.say("a", ...Array.from({ length: 20 }, (_, i) => `q${i}`));
    await process.deleteSession("a");
    await markForLater(world);
    let turns = 0;
    let isSweeping = true;
    const count = () => {
      turns++;
      if (isSweeping) setImmediate(count);
    };
    setImmediate(count);
    await world.process({ chunk: 2 }).sweep();
    isSweeping = false;
    expect(turns).toBeGreaterThanOrEqual(10);
    expect(world.db.records()).toEqual([]);
  });

  it.each([
    ["keeps sessions forever", Number.POSITIVE_INFINITY, { expireTimeMicros: 7_000_000 }],
    ["keeps them for a limited time", 2000, { expireTimeMicros: 7_000_000, updateTimeMicros: 5_000_000 }],
  ])("asks the store for the expired sessions in a service that %s", async (_, retentionMs, bounds) => {
    const sweeper = world.process({ retentionMs, nowMicros: () => 7_000_000 });
    const asked: unknown[] = [];
    sweeper.gates.close("listExpired", ([given]) => {
      asked.push(given);
      return false;
    });
    await sweeper.sweep();
    expect(asked[0]).toEqual(bounds);
  });
});

describe("a repair", () => {
  it("counts the forks of all sessions correctly, however many there are", async () => {
    for (let i = 0; i < 120; i++) await process.createSession({ sessionId: `s${i}` });
    await fork(process, "a", "b");
    await process.say("s99", "m");
    await fork(process, "s99", "c");
    expect(await world.process().sweep({ repair: true })).toMatchObject({ repairedForks: 0 });
    expect([recordOf("a").forks, recordOf("s99").forks]).toEqual([1, 1]);
  });
});
