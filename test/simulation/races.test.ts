import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/storage/history/log-store.js";
import { type Process, settle, TEN_MINUTES_MS, told, World } from "./world.js";

// Races that earlier designs lost (docs/history.md), except for those that rule-schedules/ shows.

const LATER_MS = TEN_MINUTES_MS + 60_000;

async function sessionOf(world: World, ...names: string[]): Promise<Process> {
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  if (names.length > 0) await process.say("a", ...names);
  return process;
}

function idsOf(world: World, sessionId: string): Promise<string> {
  return world.process().ids(sessionId);
}

/** Leaves what a sealer leaves when it dies half way: seals with a free place before them. */
function leaveHalfASeal(world: World): string {
  const { log } = world.record("a");
  for (const seq of [4, 5]) world.db.insert(log, { seq, id: `\u0000${seq}`, entry: null });
  return log;
}

describe("a seal", () => {
  it("wins against an appender that is always faster", async () => {
    const world = new World("weak");
    const process = await sessionOf(world, "m");
    const { log } = world.record("a");
    const example = world.db.row(log, 1)?.entry as Entry;
    let end = 1;
    let places = 0;
    process.gates.close("placeSeal", () => {
      places++;
      for (let i = 0; i < 100; i++) {
        const seq = end + 1;
        const entry = { ...example, seq, id: `busy ${seq}` };
        if (world.db.insert(log, { seq, id: entry.id, entry }) !== "stored") break;
        end = seq;
      }
      return false;
    });
    expect(await process.simStore.seal(log)).toBe(end);
    expect(world.db.row(log, end + 1)?.entry).toBeNull();
    expect(places).toBeLessThanOrEqual(181);
  });

  it("that was left half done neither blocks nor loses an append", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    writer.gates.close("insert");
    const answer = writer.say("a", "z");
    await settle();
    leaveHalfASeal(world);
    expect(await told(world.process().truncateMessages("a", "m"))).toBe("1");
    await writer.gates.open("insert");
    expect(await answer).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m z");
  });

  it("that was left half done cuts a batch, which is written again as a whole", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    leaveHalfASeal(world);
    expect(await writer.say("a", "x", "y", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m n x y z");
  });

  it("that was left half done is completed by the next sealer", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    const log = leaveHalfASeal(world);
    expect(await world.process().simStore.seal(log)).toBe(2);
    expect(world.db.row(log, 3)?.entry).toBeNull();
    expect(await writer.say("a", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m n z");
  });

  it("may stand for more than ten minutes before the record is replaced", async () => {
    const world = new World("weak");
    await sessionOf(world, "m", "n");
    const editor = world.process();
    editor.gates.close("replaceRecord");
    const removed = told(editor.truncateMessages("a", "m"));
    await settle();
    world.nowMs += LATER_MS;
    const writer = world.process();
    expect(await told(writer.getMessageCount("a"))).toBe("2");
    await editor.gates.open("replaceRecord");
    expect(await removed).toBe("1");
    await world.process().sweep();
    expect(await writer.say("a", "z")).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m z");
  });
});

describe("a batch", () => {
  it("is not shown in part by a page that looks again after the writer continued", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const reader = world.process();
    writer.gates.close("insert");
    const batch = writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    reader.gates.close("readRange");
    const page = reader.listMessages("a", { limit: 100 });
    await settle();
    await reader.gates.letOne("readRange");
    await writer.gates.open("insert");
    expect(await batch).toBe("at 1");
    await reader.gates.open("readRange");
    expect(["m", "m x y z"]).toContain((await page).messages.map(({ id }) => id).join(" "));
  });

  it("that was stored in part and cut by another writer is written again as a whole", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    writer.gates.close("insert");
    const batch = writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    expect(await told(world.process().truncateMessages("a", "m"))).toBe("1");
    expect(await idsOf(world, "a")).toBe("m");
    await writer.gates.open("insert");
    expect(await batch).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m x y z");
  });

  it("whose writer died is never visible, and a retry stores it once", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    writer.gates.close("insert");
    void writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    expect(await idsOf(world, "a")).toBe("m");
    expect(await world.process().say("a", "q")).toBe("at 1");
    expect(await world.process().say("a", "x", "y", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m q x y z");
  });
});

describe("a fork", () => {
  it("that pauses while its source is deleted and swept is either refused or complete", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m", "n");
    const forker = world.process();
    forker.gates.close("tail");
    const forked = told(forker.forkConversation("a", "b", { as: "fork" }).then(({ copiedCount }) => `${copiedCount}`));
    await settle();
    await process.deleteSession("a");
    world.nowMs += LATER_MS;
    await world.process().sweep();
    await forker.gates.open("tail");
    expect(await forked).toBe("2");
    expect(await idsOf(world, "b")).toBe("m n");
  });

  it("keeps the count that it has raised when a sweep runs before it makes the child", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    const forker = world.process();
    forker.gates.close("createRecord");
    const forked = forker.forkConversation("a", "b", { as: "fork" });
    await settle();
    world.nowMs += LATER_MS;
    await world.process().sweep();
    expect(world.record("a").forks).toBe(1);
    await forker.gates.open("createRecord");
    await forked;
    await world.process().deleteSession("a");
    world.nowMs += LATER_MS;
    await world.process().sweep();
    expect(await idsOf(world, "b")).toBe("m n");
  });
});

describe("a session that was recreated under its id", () => {
  it("is not affected by a slow sweeper of the old one", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    await process.deleteSession("a");
    world.nowMs += LATER_MS;
    const sweeper = world.process();
    sweeper.gates.close("deleteEntries");
    sweeper.gates.close("deleteRecord");
    const swept = sweeper.sweep();
    await settle();
    await process.createSession({ sessionId: "a" });
    await process.say("a", "q");
    await sweeper.gates.open("deleteEntries");
    await sweeper.gates.open("deleteRecord");
    await swept;
    expect(await idsOf(world, "a")).toBe("q");
  });

  it("is another session for a deleter that has read the old one", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    const deleter = world.process();
    deleter.gates.close("replaceRecord");
    const deleted = told(deleter.deleteSession("a"));
    await settle();
    await process.deleteSession("a");
    await process.createSession({ sessionId: "a" });
    await process.say("a", "q");
    deleter.gates.close("seal");
    await deleter.gates.open("replaceRecord");
    expect(await idsOf(world, "a")).toBe("q");
    await deleter.gates.open("seal");
    await deleted;
    expect(await idsOf(world, "a")).toBe("not_found");
  });

  it("cannot be copied onto itself", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    expect(await told(process.forkConversation("a", "a", { as: "copy" }))).toBe("invalid_argument");
  });
});

describe("a reader", () => {
  it.each([
    ["atomic", "tail", "after", "4"],
    ["weak", "readTop", "before", "2"],
  ] as const)(
    "that reads the record before an edit and the log's end after it sees, on the %s store (%s), the state %s the edit",
    async (kind, tail, _state, shown) => {
      const world = new World(kind);
      const process = await sessionOf(world, "m", "n");
      const reader = world.process();
      await reader.ids("a");
      reader.gates.close(tail);
      const count = told(reader.getMessageCount("a"));
      await settle();
      await process.truncateMessages("a", "m");
      await process.say("a", "x", "y", "z");
      await reader.gates.open(tail);
      expect(await count).toBe(shown);
    },
  );
});

describe("sessions copied into each other", () => {
  it("leave nothing behind when they are deleted", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    await process.createSession({ sessionId: "b" });
    const toB = world.process();
    toB.gates.close("addFork");
    const first = toB.forkConversation("a", "b", { as: "copy" });
    await settle();
    await process.say("b", "o");
    await process.forkConversation("b", "a", { as: "copy" });
    await toB.gates.open("addFork");
    await first;
    expect(await idsOf(world, "a")).toBe("m o");
    expect(await idsOf(world, "b")).toBe("o m");
    for (const id of ["a", "b"]) await process.deleteSession(id);
    for (let i = 0; i < 4; i++) {
      world.nowMs += LATER_MS;
      await world.process().sweep();
    }
    expect(world.db.records()).toEqual([]);
    expect(world.db.logNames()).toEqual([]);
  });
});

describe("an edit whose answer is lost", () => {
  it("has an unknown outcome when the record has changed since, and lowers no count", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m", "n");
    await process.createSession({ sessionId: "b" });
    const copier = world.process();
    copier.gates.loseNext("replaceRecord");
    copier.gates.close("readBack");
    const copied = told(copier.forkConversation("a", "b", { as: "copy" }));
    await settle();
    await world.process().updateSession("b", { title: "new" });
    await copier.gates.open("readBack");
    expect(await copied).toBe("unavailable");
    expect(world.record("a").forks).toBe(1);
    await process.deleteSession("a");
    world.nowMs += LATER_MS;
    await world.process().sweep();
    expect(await idsOf(world, "b")).toBe("m n");
  });

  it("succeeds when the record is still the one that it wrote", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    const editor = world.process();
    editor.gates.loseNext("replaceRecord");
    expect(await told(editor.truncateMessages("a", "m"))).toBe("1");
    expect(await idsOf(world, "a")).toBe("m");
  });
});

describe("a follower", () => {
  it("is told to resume when it reads a batch whose end was cut off and swept meanwhile", async () => {
    const world = new World("weak");
    const process = await sessionOf(world);
    await process.say("a", "m", "n", "o", "p");
    const reader = world.process({ chunk: 2 });
    reader.gates.close("readRange");
    const events = (await reader.followMessages("a", 0))[Symbol.asyncIterator]();
    const first = told(events.next().then(({ value }) => value.message.id));
    await settle();
    await process.truncateMessages("a", "n");
    await world.process().sweep();
    world.nowMs += LATER_MS;
    await world.process().sweep();
    await reader.gates.open("readRange");
    expect(await first).toBe("m");
    expect(await told(events.next().then(({ value }) => value.message.id))).toBe("n");
    expect(await told(events.next())).toBe("unavailable");
  });
});

describe("a log for older messages", () => {
  it.each(["atomic", "weak"] as const)(
    "is not written again after a range of it was dropped, because a slow sweeper may be deleting there (%s)",
    async (kind) => {
      const world = new World(kind);
      const process = await sessionOf(world, "m@1", "p@9");
      await process.say("a", "o@5");
      const [before] = world.record("a").namedLogs;
      await process.truncateMessages("a", "m");
      expect(world.record("a").namedLogs).toEqual([]);
      await world.process().sweep();
      world.nowMs += LATER_MS;
      const slow = world.process();
      slow.gates.close(kind === "atomic" ? "deleteEntries" : "findKeys");
      const swept = slow.sweep();
      await settle();
      await world.process().sweep();
      await world.process().say("a", "q@9");
      await world.process().say("a", "r@5");
      expect(world.record("a").namedLogs[0]?.log).not.toBe(before?.log);
      await slow.gates.open(kind === "atomic" ? "deleteEntries" : "findKeys");
      await swept;
      expect(await idsOf(world, "a")).toBe("m r q");
    },
  );
});
