import { describe, expect, it } from "vitest";
import { fork, idsOf, markForLater, sessionOf, sweepLater } from "./rule-schedules/scenes.js";
import { type Process, settle, told, World } from "./world.js";

// Races with deletes and sweeps that earlier designs lost (docs/history.md), except for those that rule-schedules/
// shows.

/** Deletes these sessions, which are the last ones, and checks that sweeps then remove every record and entry. */
async function leavesNothing(world: World, ...sessionIds: string[]): Promise<void> {
  for (const id of sessionIds) await world.process().deleteSession(id);
  await sweepLater(world, 3);
  expect(world.db.records()).toEqual([]);
  expect(world.db.logNames()).toEqual([]);
}

describe("a fork", () => {
  it.each([
    ["before it has counted itself", "raiseForks", "not_found", "not_found"],
    ["before it has read the end of the source's log", "tail", "took 2", "m n"],
    ["before it makes the child", "createRecord", "took 2", "m n"],
  ])(
    "that pauses while its source is deleted and swept, %s (%s), ends with %s",
    async (_moment, request, answer, shown) => {
      const world = new World("atomic");
      const process = await sessionOf(world, "m", "n");
      const forker = world.process();
      forker.gates.close(request);
      const forked = fork(forker, "a", "b");
      await settle();
      await process.deleteSession("a");
      await sweepLater(world);
      expect(world.db.records()).toHaveLength(shown === "not_found" ? 0 : 1);
      await forker.gates.open(request);
      expect(await forked).toBe(answer);
      await sweepLater(world);
      expect(await idsOf(world, "b")).toBe(shown);
    },
  );

  it("keeps the count that it has raised when sweeps run before it makes the child", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    const forker = world.process();
    forker.gates.close("createRecord");
    const forked = fork(forker, "a", "b");
    await settle();
    await sweepLater(world);
    expect(world.record("a").forks).toBe(1);
    await forker.gates.open("createRecord");
    expect(await forked).toBe("took 2");
    await world.process().deleteSession("a");
    await sweepLater(world);
    expect(await idsOf(world, "b")).toBe("m n");
    await leavesNothing(world, "b");
  });
});

describe("a session that was recreated under its id", () => {
  it("is not affected by a slow sweeper of the old one", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    const { uid } = world.record("a");
    await process.deleteSession("a");
    await markForLater(world);
    const sweeper = world.process();
    sweeper.gates.close("deleteEntries");
    sweeper.gates.close("deleteRecord");
    const swept = sweeper.sweep();
    await settle();
    await process.createSession({ sessionId: "a" });
    await process.say("a", "q");
    await sweeper.gates.open("deleteEntries");
    expect(await idsOf(world, "a")).toBe("q");
    await sweeper.gates.open("deleteRecord");
    expect(await swept).toMatchObject({ sessions: 1 });
    expect(world.db.document(uid)).toBeNull();
    expect(await idsOf(world, "a")).toBe("q");
    expect(await process.say("a", "r")).toBe("at 1");
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

describe("sessions copied into each other", () => {
  it("leave nothing behind when they are deleted", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    await process.createSession({ sessionId: "b" });
    const toB = world.process();
    toB.gates.close("replaceRecord");
    const first = toB.forkConversation("a", "b", { as: "copy" });
    await settle();
    await process.say("b", "o");
    await process.forkConversation("b", "a", { as: "copy" });
    await toB.gates.open("replaceRecord");
    await first;
    expect(await idsOf(world, "a")).toBe("m o");
    expect(await idsOf(world, "b")).toBe("o m");
    await leavesNothing(world, "a", "b");
  });

  it("leave nothing behind when one of them was emptied and gets its messages back", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    await process.createSession({ sessionId: "b" });
    await process.forkConversation("a", "b", { as: "copy" });
    await process.truncateMessages("a", null);
    await process.forkConversation("b", "a", { as: "copy" });
    for (const id of ["a", "b"]) expect(await idsOf(world, id)).toBe("m");
    await leavesNothing(world, "a", "b");
  });
});

describe("an edit whose answer is lost", () => {
  it("has an unknown outcome when the record has changed since", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    const editor = world.process();
    editor.gates.loseNext("replaceRecord");
    editor.gates.close("readBack");
    const truncated = told(editor.truncateMessages("a", "m"));
    await settle();
    await world.process().updateSession("a", { title: "new" });
    await editor.gates.open("readBack");
    expect(await truncated).toBe("unavailable");
    expect(await idsOf(world, "a")).toBe("m");
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

describe("a reader that pauses while the end of a batch is cut off and swept", () => {
  it.each([
    ["the list", (reader: Process) => listed(reader, 100), "m n"],
    ["a page that ends in the batch", (reader: Process) => listed(reader, 2), "m n"],
    ["a message of the batch", (reader: Process) => reader.getMessage("a", "m").then((found) => found?.id), "m"],
  ])("still gets %s", async (_what, read, expected) => {
    const world = new World("atomic");
    const process = await sessionOf(world);
    await process.say("a", "m", "n", "o", "p");
    const reader = world.process();
    reader.gates.close("readRange");
    const answer = read(reader);
    await settle();
    await process.truncateMessages("a", "n");
    await sweepLater(world);
    await reader.gates.open("readRange");
    expect(await answer).toBe(expected);
  });

  async function listed(reader: Process, limit: number): Promise<string> {
    const { messages } = await reader.listMessages("a", { limit });
    return messages.map(({ id }) => id).join(" ");
  }
});

describe("a follower", () => {
  it("goes on from where it stands when it reads a batch whose end was cut off and swept meanwhile", async () => {
    const world = new World("weak");
    const process = await sessionOf(world);
    await process.say("a", "m", "n", "o", "p");
    const reader = world.process({ chunk: 2 });
    reader.gates.close("readRange");
    const events = (await reader.followMessages("a", 0))[Symbol.asyncIterator]();
    const first = told(events.next().then(({ value }) => value.message.id));
    await settle();
    await process.truncateMessages("a", "n");
    await sweepLater(world);
    await reader.gates.open("readRange");
    expect(await first).toBe("m");
    expect(await told(events.next().then(({ value }) => value.message.id))).toBe("n");
    await process.say("a", "q");
    expect(await told(events.next().then(({ value }) => value.message.id))).toBe("q");
  });
});
