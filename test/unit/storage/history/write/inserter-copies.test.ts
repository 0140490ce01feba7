import { beforeEach, describe, expect, it } from "vitest";
import type { EngineOptions } from "../../../../../src/storage/history/history-options.js";
import type { NextRecord } from "../../../../../src/storage/history/log-store.js";
import { totalLength } from "../../../../../src/storage/history/segments.js";
import { cut, sessionOf, sweepLater } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

let world: World;

beforeEach(() => {
  world = new World("atomic");
});

/** Messages with these timestamps, which are also their ids. */
const at = (...times: readonly number[]) => times.map((time) => `${time}@${time}`);
const named = (record: NextRecord) => record.namedLogs.some(({ purpose }) => purpose === "copy");

/** A process, and the number of entries that it has written to each log. */
function writer(options: EngineOptions = {}): { process: Process; logs: Map<string, number> } {
  const process = world.process(options);
  const logs = new Map<string, number>();
  process.gates.close("append", ([log, , ids]) => {
    logs.set(log as string, (logs.get(log as string) ?? 0) + (ids as string[]).length);
    return false;
  });
  return { process, logs };
}

const BIG = { maxSegments: 100, mergeSegments: 50 };

describe("older messages", () => {
  /** A message is inserted before each of `pieces`, which adds two segments. Then the `older` messages are appended. */
  it.each([
    ["may use the last segment that is allowed", { pieces: [20, 40], older: [65], segments: 7, maxSegments: 7 }],
    ["at few places cause a merge of neighbours", { pieces: [20, 40, 60], older: [75], segments: 8, maxSegments: 8 }],
    [
      "at a quarter as many places as segments are allowed cause a merge of neighbours",
      { pieces: [20, 40, 60], older: [75, 85], segments: 8, maxSegments: 8 },
    ],
    [
      "at more places are copied together with all others",
      { pieces: [20, 40, 60], older: [75, 85, 95], segments: 1, maxSegments: 8 },
    ],
    [
      "at half as many places as segments are allowed split a history of one segment",
      { pieces: [], older: [15, 35], segments: 5, maxSegments: 4 },
    ],
    [
      "at more than half as many places are copied together with a history of one segment",
      { pieces: [], older: [15, 35, 55], segments: 1, maxSegments: 4 },
    ],
    [
      "at one place split a history of one segment once",
      { pieces: [], older: [15, 16, 17], segments: 3, maxSegments: 4 },
    ],
    [
      "at one place may split a history even when only one segment is allowed",
      { pieces: [], older: [15], segments: 3, maxSegments: 1 },
    ],
  ])("%s", async (_what, { pieces, older, segments, maxSegments }) => {
    const process = world.process(BIG);
    await process.createSession({ sessionId: "a" });
    const times = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
    await process.say("a", ...at(...times));
    for (const piece of pieces) await process.say("a", ...at(piece - 5));
    await world.process({ maxSegments, mergeSegments: 2 }).say("a", ...at(...older));
    expect(world.record("a").segments).toHaveLength(segments);
    const all = [...times, ...pieces.map((piece) => piece - 5), ...older].sort((a, b) => a - b);
    expect(await process.ids("a")).toBe(all.join(" "));
  });

  it.each([
    ["in their own places", BIG, 1],
    ["in a copy of the whole history", { maxSegments: 2 }, 1],
  ])("record for followers how many messages stay before them (%s)", async (_how, options, kept) => {
    const process = world.process(options);
    await process.createSession({ sessionId: "a" });
    await process.say("a", ...at(10, 20, 30, 40));
    await process.say("a", ...at(15, 25, 35));
    expect(world.record("a").edits.at(-1)?.kept).toBe(kept);
  });

  it.each([
    ["in its own place", BIG],
    ["in a copy of the whole history", { maxSegments: 2 }],
  ])("end a draft in the same step when one of them is its message (%s)", async (_how, options) => {
    const first = await sessionOf(world, ...at(10, 20, 30));
    await first.say("a", ...at(25));
    const process = world.process(options);
    await process.startDraft("a", { id: "15", role: "user", parts: [], timestampMicros: 15 });
    const ends: unknown[] = [];
    process.gates.close("replaceRecord", ([record]) => {
      const { segments, drafts } = record as NextRecord;
      if (totalLength(segments) === 5) ends.push(drafts.map(({ end }) => end));
      return false;
    });
    await told(process.finishDraft("a", "15", { version: 1 }));
    expect(ends[0]).toEqual(["finished"]);
    expect(await process.ids("a")).toBe("10 15 20 25 30");
  });
});

describe("a copy of the whole history with older messages", () => {
  const OLDER = at(15, 25, 35);
  let process: Process;
  let logs: Map<string, number>;

  beforeEach(async () => {
    await sessionOf(world, ...at(10, 20, 30, 40));
    ({ process, logs } = writer({ maxSegments: 2 }));
  });

  it.each([
    ["while its log is being named", named],
    ["before the record is replaced", (record: NextRecord) => !named(record)],
  ])("is made once even when the title changes %s", async (_when, isHeld) => {
    process.gates.close("replaceRecord", ([record]) => isHeld(record as NextRecord));
    const answer = process.say("a", ...OLDER);
    await settle();
    await world.process().updateSession("a", { title: "new" });
    await process.gates.open("replaceRecord");
    expect(await answer).toBe("at 1");
    expect(await world.process().ids("a")).toBe("10 15 20 25 30 35 40");
    expect(logs.size).toBe(1);
  });

  it("is made once even when somebody appends a message meanwhile", async () => {
    process.gates.close("answer of append");
    const answer = process.say("a", ...OLDER);
    await settle();
    expect(await world.process().say("a", ...at(50))).toBe("at 4");
    await process.gates.open("answer of append");
    expect(await answer).toBe("at 1");
    expect(await world.process().ids("a")).toBe("10 15 20 25 30 35 40 50");
    expect(logs.size).toBe(1);
  });

  it("answers with the position of the first message given, even when others of the call come before it", async () => {
    expect(await process.say("a", ...at(99, 98, 15, 25, 35))).toBe("at 8");
    expect(await world.process().ids("a")).toBe("10 15 20 25 30 35 40 98 99");
  });

  it("gives up its log before it names another", async () => {
    const names: number[] = [];
    process.gates.close("replaceRecord", ([record]) => {
      names.push((record as NextRecord).namedLogs.length);
      return names.length === 2;
    });
    const answer = process.say("a", ...OLDER);
    await settle();
    await world.process().updateSession("a", { title: "new" });
    await process.gates.letOne("replaceRecord");
    expect(await answer).toBe("at 1");
    expect(Math.max(...names)).toBe(1);
    expect(names[2]).toBe(0);
  });

  it("gives up its log when the caller expected another position", async () => {
    const messages = OLDER.map((name) => {
      const [id, time] = name.split("@");
      return { id: id as string, role: "user", parts: [], timestampMicros: Number(time) };
    });
    const answer = told(process.logMessages("a", messages, { expectedPosition: 2 }));
    expect(await answer).toBe("aborted");
    expect(world.record("a").namedLogs).toEqual([]);
    expect(logs.size).toBe(1);
    expect(await world.process().ids("a")).toBe("10 20 30 40");
  });
});

describe("a merge of segments", () => {
  let process: Process;
  let logs: Map<string, number>;
  let answer: Promise<string>;

  /** A session of several segments, and a merge that is held before it replaces the record. */
  beforeEach(async () => {
    const first = await sessionOf(world, ...at(10, 20, 30, 40, 50));
    for (const time of [15, 25, 35]) await first.say("a", ...at(time));
    ({ process, logs } = writer({ maxSegments: 8, mergeSegments: 4 }));
    process.gates.close("replaceRecord", ([record]) => !named(record as NextRecord));
    answer = process.say("a", ...at(45));
    await settle();
    expect(process.gates.waiting("replaceRecord")).toBe(1);
  });

  it("is not made again when only the title changes meanwhile", async () => {
    const copies = logs.size;
    await world.process().updateSession("a", { title: "new" });
    await process.gates.open("replaceRecord");
    expect(await answer).toBe("at 7");
    // The other log is for the older message.
    expect(logs.size).toBe(copies + 1);
    expect(await world.process().ids("a")).toBe("10 15 20 25 30 35 40 45 50");
  });

  it("is given up when the history is cut meanwhile", async () => {
    expect(await cut(world.process(), "a", "15")).toBe("6");
    await process.gates.open("replaceRecord");
    expect(await answer).toBe("at 2");
    expect(await world.process().ids("a")).toBe("10 15 45");
  });

  it("is given up when a sweep has removed its log as if its writer had died", async () => {
    await sweepLater(world);
    expect(world.record("a").namedLogs.filter(({ purpose }) => purpose === "copy")).toEqual([]);
    await sweepLater(world);
    await process.gates.open("replaceRecord");
    expect(await answer).toBe("at 7");
    expect(await world.process().ids("a")).toBe("10 15 20 25 30 35 40 45 50");
  });
});
