import { beforeEach, describe, expect, it } from "vitest";
import type { Head, HistoryContext } from "../../../../../src/storage/history/heads.js";
import type { EngineOptions } from "../../../../../src/storage/history/history-options.js";
import { EditorWait } from "../../../../../src/storage/history/write/editor-wait.js";
import { RecordReplacer } from "../../../../../src/storage/history/write/record-replacer.js";
import { RecordWriter } from "../../../../../src/storage/history/write/record-writer.js";
import { sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle as settled, World } from "../../../../simulation/world.js";

let world: World;
let pauses: number[];
/** Is called during each pause, with the number of pauses before it. */
let during: (before: number) => Promise<unknown>;

beforeEach(async () => {
  world = new World("atomic");
  pauses = [];
  during = async () => {};
  const process = await sessionOf(world, "m", "n");
  await process.simStore.seal(world.record("a").log);
});

/** Deletes the session in one step, as an editor does after it has sealed the log. */
function remove(): void {
  const record = world.record("a");
  world.db.replaceRecord({ ...record, revision: record.revision + 1, deleted: true }, record.revision, {});
}

/** Replaces the log in one step, as an editor does after it has sealed the log. */
function replaceLog(): void {
  const record = world.record("a");
  const { revision, log } = record;
  const segments = [{ log, first: 1, last: 2 }];
  world.db.replaceRecord({ ...record, revision: revision + 1, segments, log: `${log}new` }, revision, {});
}

function waitOf(context: HistoryContext): EditorWait {
  const writer = new RecordWriter(context, new RecordReplacer(context), async ({ record }) => record.drafts);
  return new EditorWait(context, writer);
}

/** Has a process wait for whoever has sealed the session's log. */
async function settle(options: EngineOptions = {}): Promise<void> {
  const pause = async (ms: number): Promise<void> => {
    await during(pauses.length);
    pauses.push(ms);
    world.nowMs += ms;
  };
  const { context } = world.process({ editorWaitMs: 64, ...options, pause });
  const wait = waitOf(context);
  await wait.settle((await context.load("a")) as Head);
}

describe("a process that finds a sealed log", () => {
  it("looks again after growing pauses, from a sixteenth of the time on, and then rolls the log over", async () => {
    const { log } = world.record("a");
    await settle();
    expect(pauses.slice(0, 3)).toEqual([4, 6, 9]);
    expect(pauses.reduce((a, b) => a + b)).toBe(64);
    expect(world.record("a")).toMatchObject({ segments: [{ log, first: 1, last: 2 }], rollovers: { count: 1 } });
  });

  it.each([
    ["at least a millisecond before it looks again", { editorWaitMs: 4 }, 1],
    ["no longer than the time allowed", { editorWaitMs: 0.5 }, 0.5],
  ])("waits %s", async (_what, options, first) => {
    await settle(options);
    expect(pauses[0]).toBe(first);
  });

  it("waits no longer when only the title changes meanwhile", async () => {
    const { log } = world.record("a");
    during = async (before) => {
      await world.process().updateSession("a", { title: `new ${before}` });
    };
    await settle();
    expect(pauses.reduce((a, b) => a + b)).toBe(64);
    expect(world.record("a").segments).toEqual([{ log, first: 1, last: 2 }]);
  });

  it.each([
    ["the log was replaced", async () => void replaceLog()],
    ["the session was deleted", async () => void remove()],
  ])("stops waiting once %s, and leaves the log as it is", async (_what, change) => {
    during = async (before) => {
      if (before === 2) await change();
    };
    const { uid } = world.record("a");
    await settle();
    expect(pauses).toHaveLength(3);
    expect(world.db.document(uid)?.record.rollovers.count).toBe(0);
  });

  it.each([
    ["the log was replaced", async () => void replaceLog()],
    ["the session was deleted", async () => void remove()],
  ])("leaves the log as it is even when %s just before the time was over", async (_what, change) => {
    const { uid } = world.record("a");
    const { context } = world.process({ editorWaitMs: 0 });
    const head = (await context.load("a")) as Head;
    await change();
    const wait = waitOf(context);
    await wait.settle(head);
    expect(world.db.document(uid)?.record.rollovers.count).toBe(0);
  });
});

describe("a process that finds a batch that is not complete yet", () => {
  let writer: Process;
  let appended: Promise<string>;

  beforeEach(async () => {
    world = new World("weak");
    writer = await sessionOf(world, "m", "n");
    writer.gates.close("insert", ([, , id]) => id === "y");
    appended = writer.say("a", "x", "y");
    await settled();
    expect(((await world.process().context.load("a")) as Head).state).toBe("unfinished");
  });

  it("stops waiting once the batch is complete", async () => {
    const { log } = world.record("a");
    during = async (before) => {
      if (before === 2) await writer.gates.open("insert");
    };
    await settle();
    expect(pauses).toHaveLength(3);
    expect(world.record("a").log).toBe(log);
    expect(await appended).toBe("at 2");
  });

  it("leaves the log open when the batch was completed just before the time was over", async () => {
    const { log } = world.record("a");
    const { context } = world.process({ editorWaitMs: 0 });
    const head = (await context.load("a")) as Head;
    await writer.gates.open("insert");
    await waitOf(context).settle(head);
    expect(world.record("a").log).toBe(log);
    expect(await appended).toBe("at 2");
  });
});
