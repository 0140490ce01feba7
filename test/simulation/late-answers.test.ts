import { describe, expect, it } from "vitest";
import { type Process, settle, TEN_MINUTES_MS, told, World } from "./world.js";

const LATER_MS = TEN_MINUTES_MS + 60_000;
const KINDS = ["atomic", "weak"] as const;

type Call = "createRecord" | "append";

/**
 * Holds back the answer to the process's next call of this name until the test releases it. The call itself is carried
 * out at once.
 */
function holdAnswer(process: Process, name: Call): () => Promise<void> {
  const store = process.simStore as unknown as Record<Call, (...args: unknown[]) => Promise<unknown>>;
  const original = store[name].bind(store);
  let isHeld = false;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  store[name] = async (...args) => {
    const answer = await original(...args);
    isHeld = true;
    await held;
    return answer;
  };
  return async () => {
    if (!isHeld) throw new Error(`No answer to ${name} was held back`);
    store[name] = original;
    release();
    await settle();
  };
}

async function sweepAll(world: World): Promise<void> {
  await world.process().sweep();
  world.nowMs += LATER_MS;
  await world.process().sweep();
}

/** Checks that every append that was answered with a position is in the history. Others may be missing. */
async function checkKept(world: World, sessionId: string, appends: Readonly<Record<string, string>>): Promise<void> {
  const ids = (await world.process().ids(sessionId)).split(" ");
  const acknowledged = Object.keys(appends).filter((id) => appends[id]?.startsWith("at "));
  expect(ids).toEqual(expect.arrayContaining(acknowledged));
  for (const [id, answer] of Object.entries(appends)) if (!ids.includes(id)) expect(answer).toBe("unavailable");
}

async function sayAll(process: Process, sessionId: string, ids: readonly string[]): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const id of ids) answers[id] = await process.say(sessionId, id);
  return answers;
}

describe.each(KINDS)("on the %s store no acknowledged append is lost", (kind) => {
  it("after a create whose answer arrives only after the session was deleted, recreated and swept", async () => {
    const world = new World(kind);
    const first = world.process();
    const release = holdAnswer(first, "createRecord");
    const created = told(first.createSession({ sessionId: "a" }));
    await settle();
    const second = world.process();
    await second.say("a", "m1");
    await second.deleteSession("a");
    await second.createSession({ sessionId: "a" });
    await second.say("a", "n1");
    await sweepAll(world);
    // Meanwhile another answer tells the process the store's time.
    expect(await first.ids("none")).toBe("not_found");
    await release();
    expect(await created).toContain('"sessionId":"a"');
    await checkKept(world, "a", await sayAll(first, "a", ["x1", "x2", "x3"]));
    expect(await world.process().ids("a")).toContain("x3");
  });

  it("after a fork whose answer arrives only after the fork was cut and swept", async () => {
    const world = new World(kind);
    const first = world.process();
    await first.createSession({ sessionId: "s" });
    await first.say("s", "m1", "m2");
    const release = holdAnswer(first, "createRecord");
    const forked = told(first.forkConversation("s", "f", { as: "fork" }).then(() => "forked"));
    await settle();
    const second = world.process();
    await second.truncateMessages("f", "m1");
    await second.say("f", "x");
    await sweepAll(world);
    // Meanwhile another answer tells the process the store's time.
    expect(await first.ids("none")).toBe("not_found");
    await release();
    expect(await forked).toBe("forked");
    await checkKept(world, "f", await sayAll(first, "f", ["x1", "x2", "x3"]));
    expect(await world.process().ids("f")).toContain("x3");
  });

  it("after an append whose answer arrives only after the end of its log was cut and swept", async () => {
    const world = new World(kind);
    const first = world.process();
    await first.createSession({ sessionId: "a" });
    await first.say("a", "m1");
    const release = holdAnswer(first, "append");
    const late = told(first.say("a", "m2"));
    await settle();
    const second = world.process();
    await second.say("a", "m3");
    await second.truncateMessages("a", "m2");
    await sweepAll(world);
    // Meanwhile another answer tells the process the store's time.
    expect(await first.ids("none")).toBe("not_found");
    await release();
    expect(await late).toBe("at 1");
    await checkKept(world, "a", await sayAll(first, "a", ["x1", "x2", "x3"]));
    expect(await world.process().ids("a")).toContain("x3");
  });

  it.each([
    ["cut", (process: Process) => process.truncateMessages("a", "m1")],
    [
      "deleted and recreated",
      async (process: Process) => {
        await process.deleteSession("a");
        await process.createSession({ sessionId: "a" });
      },
    ],
  ])("by a process whose own clock stood still while the session was %s and swept", async (_what, change) => {
    const world = new World(kind);
    const first = world.process({ clockMs: () => 0 });
    await first.createSession({ sessionId: "a" });
    await first.say("a", "m1", "m2");
    const second = world.process();
    await change(second);
    await sweepAll(world);
    await checkKept(world, "a", await sayAll(first, "a", ["x1", "x2"]));
    expect(await world.process().ids("a")).toContain("x2");
  });

  it("even when the store's clock jumps by more than ten minutes between two appends", async () => {
    const world = new World(kind);
    const first = world.process({ clockMs: () => 0 });
    await first.createSession({ sessionId: "a" });
    await first.say("a", "m1@5", "m2@6");
    await world.process().say("a", "old@1");
    await sweepAll(world);
    await checkKept(world, "a", await sayAll(first, "a", ["x1", "x2"]));
    expect(await world.process().ids("a")).toContain("x2");
  });
});

describe.each(KINDS)("on the %s store a source that was just released", (kind) => {
  it.each([
    ["a look-up", "findById", (p: Process) => p.getMessage("b", "m1").then((m) => m?.id ?? "null"), "m1"],
    ["a list by time", "seqAtTime", (p: Process) => idsUntil(p), "m1 m2"],
    ["a truncate", "findById", (p: Process) => p.truncateMessages("b", "m1").then(String), "4"],
  ] as const)("keeps its messages for ten minutes, for readers such as %s", async (_what, gate, read, expected) => {
    const world = new World(kind);
    const process = world.process({ maxSegments: 2 });
    await process.createSession({ sessionId: "s" });
    await process.say("s", "m1@10", "m2@20", "m3@30");
    await process.forkConversation("s", "b", { as: "fork" });
    await process.deleteSession("s");
    await sweepAll(world);
    await process.say("b", "m4@40");
    const reader = world.process();
    reader.gates.close(gate);
    const answer = told(read(reader));
    await settle();
    // This splits the history into so many segments that it is copied as a whole into a log of b's own, and the source
    // is released.
    await process.say("b", "old@15");
    expect(world.db.records().find(({ sessionId }) => sessionId === "s")?.forks).toBe(0);
    await world.process().sweep();
    expect(world.db.records().some(({ sessionId }) => sessionId === "s")).toBe(true);
    await reader.gates.open(gate);
    expect(await answer).toBe(expected);
    await sweepAll(world);
    expect(world.db.records().some(({ sessionId }) => sessionId === "s")).toBe(false);
  });
});

async function idsUntil(process: Process): Promise<string> {
  const page = await process.listMessages("b", { limit: 10, untilMicros: 25 });
  return page.messages
    .map(({ id }) => id)
    .filter((id) => id !== "old")
    .join(" ");
}

describe("a copy whose writer died", () => {
  it.each(KINDS)("is removed by sweeps, with or without an edit before them (%s)", async (kind) => {
    for (const isEdited of [true, false]) {
      const world = new World(kind);
      const process = world.process({ maxSegments: 2, chunk: 2 });
      await process.createSession({ sessionId: "a" });
      await process.say("a", "m1@10", "m2@20", "m3@30");
      const gate = kind === "atomic" ? "append" : "insert";
      const isCopy = ([log]: readonly unknown[]) => log !== world.record("a").log;
      let copied = 0;
      process.gates.close(gate, (args) => isCopy(args) && ++copied > 2);
      void process.say("a", "old@15", "older@5");
      await settle();
      const [copy] = world.record("a").namedLogs.filter(({ purpose }) => purpose === "copy");
      expect(world.db.rows(copy?.log ?? "").length).toBeGreaterThan(0);
      if (isEdited) await world.process().truncateMessages("a", "m2");
      for (let i = 0; i < 3; i++) await sweepAll(world);
      expect(world.record("a").namedLogs).toEqual([]);
      expect(world.db.rows(copy?.log ?? "")).toEqual([]);
      expect(await world.process().ids("a")).toBe(isEdited ? "m1 m2" : "m1 m2 m3");
    }
  });
});

describe("a merge of segments", () => {
  it.each(KINDS)("does not bring back an undo that an append has cleared (%s)", async (kind) => {
    const world = new World(kind);
    const process = world.process();
    await process.createSession({ sessionId: "a" });
    await process.say("a", "m1@10", "m2@20", "m3@30");
    await process.say("a", "o1@15");
    await process.say("a", "o2@25");
    await process.truncateMessages("a", "m2", { keepForUnrevert: true });
    const { log } = world.record("a");
    const merger = world.process({ maxSegments: 2 });
    const gate = kind === "atomic" ? "append" : "insert";
    merger.gates.close(gate);
    void merger.say("a", "x");
    await settle();
    await world.process().say("a", "y@60");
    // Wait until the copy is in place. The append for which it was made never arrives.
    while (world.record("a").log === log) await merger.gates.letOne(gate);
    expect(await told(world.process().restoreMessages("a"))).toBe("failed_precondition");
    expect(await world.process().ids("a")).toBe("m1 o1 m2 y");
  });
});

describe("a sweep", () => {
  it.each(KINDS)("keeps and marks in the record what it does not remove (%s)", async (kind) => {
    const world = new World(kind);
    const process = world.process();
    await process.createSession({ sessionId: "a" });
    await process.say("a", "m1", "m2", "m3");
    await process.truncateMessages("a", "m2");
    const young = world.record("a").log;
    await world.process().sweep();
    world.nowMs += LATER_MS;
    await process.say("a", "n1");
    await process.truncateMessages("a", "m1");
    await world.process().sweep();
    const { dropped } = world.record("a");
    expect(dropped.map(({ log }) => log)).toContain(young);
    expect(dropped.every(({ markedAtMs }) => markedAtMs !== undefined)).toBe(true);
    world.nowMs += LATER_MS;
    await world.process().sweep();
    expect(world.record("a").dropped).toEqual([]);
    expect(world.db.rows(young)).toEqual([]);
    expect(await world.process().ids("a")).toBe("m1");
  });
});

describe.each(KINDS)("on the %s store a list that stands still while messages are swept", (kind) => {
  it.each([
    ["the second one was updated", (p: Process) => p.updateMessage("a", "m2", { role: "x" }), "m1 m2 m3 m4"],
    ["the third one was deleted", (p: Process) => p.deleteMessage("a", "m3"), "m1 m2 m4"],
    ["the history was cut", (p: Process) => p.truncateMessages("a", "m1"), "m1"],
  ] as const)("after %s shows the history as it is", async (_what, edit, expected) => {
    const world = new World(kind);
    const process = world.process();
    await process.createSession({ sessionId: "a" });
    for (const id of ["m1", "m2", "m3", "m4"]) await process.say("a", id);
    const reader = world.process({ nowMicros: () => world.nowMs * 1000 });
    reader.gates.close("readRange");
    const listed = told(
      reader.listMessages("a", { limit: 10 }).then((page) => page.messages.map(({ id }) => id).join(" ")),
    );
    await settle();
    await edit(process);
    await sweepAll(world);
    await reader.gates.open("readRange");
    expect(await listed).toBe(expected);
  });
});
