import { describe, expect, it } from "vitest";
import { cut, revert, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { settle, told, World } from "../../../../simulation/world.js";

const LATER_MICROS = 9e12;

describe("a message that arrives just before the seal", () => {
  it("of a rollover is kept", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    const full = world.process({ maxLogEntries: 2 });
    full.gates.close("seal");
    const answer = full.say("a", "o");
    await settle();
    expect(await world.process().say("a", "x")).toBe("at 2");
    await full.gates.open("seal");
    expect(await answer).toBe("at 3");
    expect(await world.process().ids("a")).toBe("m n x o");
  });

  it("of a delete is deleted with the session", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m");
    const deleter = world.process();
    deleter.gates.close("seal");
    const deleted = told(deleter.deleteSession("a").then(() => "deleted"));
    await settle();
    await world.process().say("a", "x");
    await deleter.gates.open("seal");
    expect(await deleted).toBe("deleted");
    expect(await world.process().ids("a")).toBe("not_found");
  });
});

it("a deleted session keeps nothing that its caller gave, except for its owner", async () => {
  const world = new World("atomic");
  const process = world.process();
  await process.createSession({
    ...{ sessionId: "a", title: "Kyoto", metadata: { a: 1 }, labels: { topic: "travel" } },
    owner: "ada",
    expireTimeMicros: LATER_MICROS,
  });
  const { uid } = world.record("a");
  await process.deleteSession("a");
  const stored = (await process.simStore.scanRecords("", 10)).find((record) => record.uid === uid);
  expect(stored).toMatchObject({ deleted: true, title: "", owner: "ada", drafts: [] });
  expect([stored?.metadata, stored?.labels, stored?.expireTimeMicros]).toEqual([undefined, undefined, undefined]);
});

describe("a rollover after an editor that died", () => {
  it("keeps the timestamp of the last message, which decides which messages are older", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m@50");
    await process.simStore.seal(world.record("a").log);
    await world.process().say("a", "o@20");
    expect(await world.process().ids("a")).toBe("o m");
  });

  it("moves the update time to its own time only when the log that it closes holds messages", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m", "n");
    const late = world.process({ nowMicros: () => LATER_MICROS });
    await cut(process, "a", "m");
    const { updateTimeMicros, log } = world.record("a");
    await process.simStore.seal(log);
    await cut(late, "a", "m");
    expect(world.record("a").log).not.toBe(log);
    expect(world.record("a").updateTimeMicros).toBe(updateTimeMicros);
    await process.say("a", "o");
    await process.simStore.seal(world.record("a").log);
    await cut(late, "a", "o");
    expect(world.record("a").updateTimeMicros).toBe(LATER_MICROS);
  });
});

it("a rollover leaves a draft open whose id is only in the unfinished batch of a writer that died", async () => {
  const world = new World("weak");
  await sessionOf(world, "m");
  const dead = world.process();
  await dead.ids("a");
  dead.gates.close("insert", ([, , id]) => id === "y");
  dead.say("a", "x", "d", "y");
  await settle();
  const writer = world.process();
  await writer.startDraft("a", { id: "d", role: "assistant", parts: [] });
  expect(await world.process().say("a", "z")).toBe("at 1");
  expect(await told(writer.finishDraft("a", "d", { version: 1 }).then(({ position }) => position))).toBe("2");
  expect(await world.process().ids("a")).toBe("m z d");
});

it("a merge of segments changes nothing that callers or followers see", async () => {
  const world = new World("atomic");
  const process = await sessionOf(world, "m@10", "n@30");
  await process.say("a", "o@20");
  const { segments, sessionRevision, updateTimeMicros, edits } = world.record("a");
  const child = world.process({ maxAncestryBytes: 100, nowMicros: () => LATER_MICROS });
  await child.createSession({ sessionId: "c", parentId: "a" });
  expect(segments.length).toBeGreaterThan(1);
  const merged = world.record("a");
  expect(merged.segments.length).toBe(1);
  expect(merged).toMatchObject({ sessionRevision, updateTimeMicros, edits });
});

it("an edit whose record was replaced meanwhile does not wait for its own seal", async () => {
  const world = new World("atomic");
  await sessionOf(world, "m", "n");
  const editor = world.process({ editorWaitMs: 5000 });
  editor.gates.close("replaceRecord");
  const edited = cut(editor, "a", "m");
  await settle();
  await world.process().updateSession("a", { title: "new" });
  const before = world.nowMs;
  await editor.gates.open("replaceRecord");
  expect(await edited).toBe("1");
  expect(world.nowMs - before).toBeLessThan(1000);
});

it("a record remembers a limited number of edits", async () => {
  const world = new World("atomic");
  const process = world.process({ maxEdits: 2 });
  await process.createSession({ sessionId: "a" });
  await process.say("a", "m", "n", "o", "p");
  for (const mid of ["o", "n", "m"]) await revert(process, "a", mid);
  expect(world.record("a").edits.map(({ kept }) => kept)).toEqual([2, 1]);
});
