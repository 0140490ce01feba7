import { beforeEach, describe, expect, it } from "vitest";
import { fork, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with two messages, and an empty session "t". */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m", "n");
  await process.createSession({ sessionId: "t" });
});

function copy(copier: Process, source: string, target: string): Promise<string> {
  return told(
    copier.forkConversation(source, target, { as: "copy" }).then(({ copiedCount }) => `copied ${copiedCount}`),
  );
}

describe("the count of forks of a source", () => {
  it.each([
    ["a fork", (target: string) => fork(process, "t", target)],
    ["a child", (target: string) => told(process.createSession({ sessionId: target, parentId: "t" }))],
  ])("is not raised by %s of an empty session, which names none of its logs", async (_what, make) => {
    await make("b");
    expect(world.record("b").sources).toEqual([]);
    expect(world.record("t").forks).toBe(0);
  });

  it("is raised by a child of an empty child, whose ancestry shows the messages of its grandparent", async () => {
    await process.createSession({ sessionId: "b", parentId: "a" });
    await process.createSession({ sessionId: "c", parentId: "b" });
    expect(world.record("c").sources).toEqual([world.record("b").uid]);
    expect(world.record("b").forks).toBe(1);
    expect(await process.ids("c")).toBe("m n");
  });

  it("is unchanged when the id of the fork is taken", async () => {
    expect(await fork(process, "a", "t")).toBe("already_exists");
    expect(world.record("a").forks).toBe(0);
  });

  it("is unchanged when the message to fork at does not exist", async () => {
    const forked = process.forkConversation("a", "b", { as: "fork", upToMessageId: "x" });
    expect(await told(forked)).toBe("invalid_argument");
    expect(world.record("a").forks).toBe(0);
  });

  it("is unchanged when a message arrives in the target of a copy just before its seal", async () => {
    const copier = world.process();
    copier.gates.close("seal");
    const copied = copy(copier, "a", "t");
    await settle();
    await world.process().say("t", "x");
    await copier.gates.open("seal");
    expect(await copied).toBe("copied 2");
    expect((await world.process().ids("t")).split(" ").sort()).toEqual(["m", "n", "x"]);
    expect(world.record("a").forks).toBe(0);
  });
});

it("a copy into an empty session leaves out a message whose id an open draft there has", async () => {
  await process.startDraft("t", { id: "m", role: "assistant", parts: [] });
  expect(await copy(process, "a", "t")).toBe("copied 1");
  expect(await told(process.finishDraft("t", "m", { version: 1 }).then(() => "finished"))).toBe("finished");
  expect((await world.process().ids("t")).split(" ").sort()).toEqual(["m", "n"]);
});

describe("a copy that takes longer than a head may be used", () => {
  it.each([
    ["an empty session", []],
    ["a session with messages", ["x"]],
  ])("into %s answers with the number of messages that it copied", async (_what, messages) => {
    const slow = new World("weak");
    const maker = await sessionOf(slow, "m", "n");
    await maker.createSession({ sessionId: "t" });
    for (const id of messages) await maker.say("t", id);
    const copier = slow.process();
    copier.gates.close("replaceRecord", ([record]) => (record as { segments: unknown[] }).segments.length > 0);
    const copied = copy(copier, "a", "t");
    await settle();
    slow.nowMs += 120_000;
    await copier.gates.open("replaceRecord");
    expect(await copied).toBe("copied 2");
    expect((await slow.process().ids("t")).split(" ").sort()).toEqual([...messages, "m", "n"].sort());
  });
});

describe("a call to create a session that exists", () => {
  beforeEach(async () => {
    await process.createSession({ sessionId: "b", parentId: "a" });
  });

  it.each([
    ["with the same parent returns it", { parentId: "a" }, "b"],
    ["without a parent returns it", {}, "b"],
    ["with another parent is refused", { parentId: "t" }, "already_exists"],
    ["with a parent, although it has none, is refused", { sessionId: "t", parentId: "a" }, "already_exists"],
  ])("%s", async (_what, fields, answer) => {
    expect(await told(process.createSession({ sessionId: "b", ...fields }).then(({ sessionId }) => sessionId))).toBe(
      answer,
    );
  });
});

it("a fork of a whole session has its last message as the fork point, even right after an edit", async () => {
  await process.truncateMessages("a", "m");
  await fork(process, "a", "b");
  expect(world.record("b")).toMatchObject({ forkPointId: "m", inheritedCount: 1 });
});

describe("a call to make a fork that exists", () => {
  beforeEach(async () => {
    await fork(process, "a", "b");
  });

  it("does not count as a retry when it names a source that never existed", async () => {
    expect(await fork(process, "x", "b")).toBe("already_exists");
    await expect(process.forkConversation("x", "b", { as: "fork" })).rejects.toThrow(
      'Session "b" exists and was not made by this call',
    );
  });

  it("fails with unavailable when the source cannot be read", async () => {
    process.gates.loseNext("findById");
    expect(await told(process.forkConversation("a", "b", { as: "fork", upToMessageId: "m" }))).toBe("unavailable");
  });
});

describe("a call to create a session whose id is taken when it begins", () => {
  it("creates it when the other session is deleted before its record is read", async () => {
    const creator = world.process();
    const { created } = await refusedAndDeleted(creator);
    await creator.gates.open("answer of createRecord");
    expect(await created).toBe("mine");
  });

  it("creates it even if the store refuses for ever a uid that it has refused once", async () => {
    const creator = world.process();
    const { simStore } = creator;
    const create = simStore.createRecord.bind(simStore);
    const refused = new Set<string>();
    // So does MongoDB after an unknown outcome: it blocks the uid, so that the first send cannot arrive late.
    simStore.createRecord = async (record, call) => {
      const answer = refused.has(record.uid) ? "exists" : await create(record, call);
      if (answer === "exists") refused.add(record.uid);
      return answer;
    };
    const { created } = await refusedAndDeleted(creator);
    await creator.gates.open("answer of createRecord");
    expect(await created).toBe("mine");
  });

  it("leaves alone another session that takes the id meanwhile", async () => {
    const creator = world.process();
    const { created } = await refusedAndDeleted(creator);
    creator.gates.close("readRecord");
    await creator.gates.open("answer of createRecord");
    await creator.gates.letOne("readRecord");
    const other = world.process();
    await other.createSession({ sessionId: "t", title: "other" });
    await other.say("t", "x");
    await creator.gates.open("readRecord");
    expect(await created).toBe("already_exists");
    expect(await world.process().ids("t")).toBe("x");
  });
});

/**
 * Begins to create `t`, which the store refuses, and deletes the other session `t` before the creator gets that answer.
 */
async function refusedAndDeleted(creator: Process): Promise<{ readonly created: Promise<string> }> {
  creator.gates.close("answer of createRecord");
  const created = told(creator.createSession({ sessionId: "t", title: "mine" }).then(({ title }) => title));
  await settle();
  await process.deleteSession("t");
  return { created };
}
