import { beforeEach, describe, expect, it } from "vitest";
import { cut, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

let world: World;
let editor: Process;

/** A session "a" with two messages, and a process that is going to edit it. */
beforeEach(async () => {
  world = new World("atomic");
  await sessionOf(world, "m", "n");
  editor = world.process();
});

/** Appends by a process that would wait long if the log were sealed, and checks that it does not wait. */
async function appendWithoutWaiting(): Promise<string> {
  const before = world.nowMs;
  const answer = await world.process({ editorWaitMs: 5000 }).say("a", "z");
  expect(world.nowMs).toBe(before);
  return answer;
}

describe("a refused edit", () => {
  it("leaves the record as it was", async () => {
    const before = world.record("a");
    expect(await cut(editor, "a", "x")).toBe("invalid_argument");
    expect(world.record("a")).toEqual(before);
  });

  it("opens the log that it had sealed before the session changed", async () => {
    editor.gates.close("replaceRecord");
    const edited = told(editor.truncateMessages("a", "m", { expectedRevision: 1 }));
    await settle();
    await world.process().updateSession("a", { title: "new" });
    await editor.gates.open("replaceRecord");
    expect(await edited).toBe("aborted");
    expect(await appendWithoutWaiting()).toBe("at 2");
  });
});

describe("an edit whose store fails", () => {
  it("fails with unavailable", async () => {
    editor.gates.loseNext("findById");
    expect(await cut(editor, "a", "m")).toBe("unavailable");
  });

  it("fails with unavailable even when the title changes meanwhile", async () => {
    editor.gates.close("findById");
    const edited = cut(editor, "a", "m");
    await settle();
    await world.process().updateSession("a", { title: "new" });
    editor.gates.loseNext("findById");
    await editor.gates.open("findById");
    expect(await edited).toBe("unavailable");
  });
});

describe("an edit that takes longer than a head may be used", () => {
  let late: Process;

  /** Starts a truncate, and holds it for two minutes while it looks up its message. */
  async function holdLookup(mid: string): Promise<() => Promise<string>> {
    const slow = new World("weak");
    await sessionOf(slow, "m", "n");
    late = slow.process();
    late.gates.close("findById");
    const edited = cut(late, "a", mid);
    await settle();
    slow.nowMs += 120_000;
    expect(await late.ids("none")).toBe("not_found");
    return () => edited;
  }

  it.each([
    ["is refused", "x", "invalid_argument"],
    ["finds nothing to do", "n", "0"],
  ])("looks up its message again before it %s", async (_what, mid, answer) => {
    const edited = await holdLookup(mid);
    await late.gates.letOne("findById");
    expect(late.gates.waiting("findById")).toBe(1);
    await late.gates.open("findById");
    expect(await edited()).toBe(answer);
  });

  it("fails with unavailable when its store does", async () => {
    const edited = await holdLookup("m");
    late.gates.loseNext("findById");
    await late.gates.open("findById");
    expect(await edited()).toBe("unavailable");
  });
});

it("a truncate leaves alone a draft that is started after it", async () => {
  editor.gates.close("replaceRecord");
  const edited = cut(editor, "a", "m");
  await settle();
  const writer = world.process();
  await writer.startDraft("a", { id: "d", role: "assistant", parts: [] });
  await editor.gates.open("replaceRecord");
  expect(await edited).toBe("1");
  expect(await told(writer.finishDraft("a", "d", { version: 1 }).then(() => "finished"))).toBe("finished");
  expect(await world.process().ids("a")).toBe("m d");
});

it("a new time of expiry keeps the title that another process sets meanwhile", async () => {
  editor.gates.close("readRecord");
  const updated = told(editor.updateSession("a", { expireTimeMicros: 9e15 }).then(() => "updated"));
  await settle();
  await editor.gates.letOne("readRecord");
  await world.process().updateSession("a", { title: "new" });
  await editor.gates.open("readRecord");
  expect(await updated).toBe("updated");
  expect(world.record("a")).toMatchObject({ title: "new", expireTimeMicros: 9e15, sessionRevision: 3 });
});

it("a new title leaves open drafts alone", async () => {
  await editor.startDraft("a", { id: "d", role: "assistant", parts: [] });
  const { drafts } = world.record("a");
  await editor.updateSession("a", { title: "new" });
  expect(world.record("a").drafts).toEqual(drafts);
  expect(await told(editor.finishDraft("a", "d", { version: 1 }).then(() => "finished"))).toBe("finished");
  expect(await world.process().ids("a")).toBe("m n d");
});
