import { beforeEach, describe, expect, it } from "vitest";
import type { Head } from "../../../../src/storage/history/heads.js";
import type { NamedLog } from "../../../../src/storage/history/log-store.js";
import { NamedLogs } from "../../../../src/storage/history/write/named-logs.js";
import { RecordReplacer } from "../../../../src/storage/history/write/record-replacer.js";
import { sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../simulation/world.js";

let world: World;
let process: Process;

/** A session "a" with three messages. */
beforeEach(async () => {
  world = new World("atomic");
  process = await sessionOf(world, "m@10", "n@20", "o@30");
});

const purposes = () => world.record("a").namedLogs.map(({ purpose }) => purpose);
const olderLogs = () => world.record("a").namedLogs.filter(({ purpose }) => purpose === "older");

/** Has two processes append an older message each at the same time, so that neither knows of the other's. */
async function writeAtOnce(): Promise<void> {
  const [one, other] = [world.process(), world.process()];
  one.gates.close("append");
  const answer = one.say("a", "y@25");
  await settle();
  other.gates.close("seal");
  const another = other.say("a", "z@26");
  await settle();
  await one.gates.open("append");
  await other.gates.open("seal");
  expect([await answer, await another].every((text) => text.startsWith("at "))).toBe(true);
}

describe("names of logs", () => {
  let namedLogs: NamedLogs;
  const name = async (purpose: NamedLog["purpose"]): Promise<string> => {
    const head = (await process.context.load("a")) as Head;
    return (await namedLogs.name(head, purpose))?.log as string;
  };

  beforeEach(() => {
    namedLogs = new NamedLogs(process.context, new RecordReplacer(process.context));
  });

  it("of logs for copies are added to all others", async () => {
    const logs = [await name("older"), await name("copy"), await name("copy")];
    expect(world.record("a").namedLogs.map(({ log }) => log)).toEqual(logs);
  });

  it("of logs for older messages replace each other", async () => {
    await name("copy");
    await name("older");
    const newest = await name("older");
    expect(purposes()).toEqual(["copy", "older"]);
    expect(olderLogs()).toEqual([{ log: newest, purpose: "older" }]);
  });

  it("are removed one by one", async () => {
    await name("older");
    const unneeded = await name("copy");
    const other = await name("copy");
    await namedLogs.unname(world.record("a"), unneeded);
    expect(purposes()).toEqual(["older", "copy"]);
    expect(world.record("a").namedLogs[1]?.log).toBe(other);
  });

  it("are removed even when the title changes meanwhile", async () => {
    const log = await name("copy");
    process.gates.close("replaceRecord");
    const removed = namedLogs.unname(world.record("a"), log);
    await settle();
    await world.process().updateSession("a", { title: "new" });
    await process.gates.open("replaceRecord");
    await removed;
    expect(world.record("a")).toMatchObject({ namedLogs: [], title: "new" });
  });

  it("may be missing from the record that they are removed from, and the record may be gone", async () => {
    const before = world.record("a");
    await namedLogs.unname(before, `${before.uid}.x`);
    expect(world.record("a")).toEqual(before);
    await namedLogs.unname({ ...before, uid: "gone" }, "gone.x");
  });
});

describe("older messages", () => {
  it.each([
    ["that fit into one write go to a log that stays for later ones", ["x@15", "y@16"], ["older"]],
    ["that do not fit into one write get a log of their own", ["x@15", "y@16", "z@17"], []],
  ])("%s", async (_what, messages, left) => {
    await world.process({ chunk: 2 }).say("a", ...messages);
    expect(purposes()).toEqual(left);
  });

  it("get a fresh log when a writer that died has left their id in the shared one", async () => {
    await process.say("a", "w@15");
    const [log] = olderLogs();
    const dead = world.process();
    dead.gates.close("seal");
    void dead.say("a", "x@25");
    await settle();
    expect(await world.process().say("a", "x@26")).toBe("at 3");
    expect(olderLogs()).toHaveLength(1);
    expect(olderLogs()).not.toContainEqual(log);
    expect(await process.ids("a")).toBe("m w n x o");
  });

  it("go to a log that a writer that died has named and left empty", async () => {
    const dead = world.process();
    dead.gates.close("append");
    void dead.say("a", "x@15");
    await settle();
    const [log] = olderLogs();
    expect(await world.process().say("a", "y@15")).toBe("at 1");
    expect(olderLogs()).toEqual([log]);
    expect(await process.ids("a")).toBe("m y n o");
  });

  it("do not go to the log of a copy that is under way", async () => {
    await process.createSession({ sessionId: "b" });
    await process.say("b", "p");
    const copier = world.process();
    copier.gates.close("append");
    void told(copier.forkConversation("b", "a", { as: "copy" }));
    await settle();
    const [copy] = world.record("a").namedLogs;
    expect(copy?.purpose).toBe("copy");
    expect(await world.process().say("a", "x@15")).toBe("at 1");
    expect(world.record("a").segments.map(({ log }) => log)).not.toContain(copy?.log);
  });

  it("of two processes that name a fresh log at the same time get places of their own", async () => {
    await writeAtOnce();
    expect(await process.ids("a")).toBe("m n y z o");
  });

  it("of two processes share one log", async () => {
    await process.say("a", "x@15");
    const [log] = olderLogs();
    await writeAtOnce();
    expect(olderLogs()).toEqual([log]);
    expect(await process.ids("a")).toBe("m x n y z o");
  });
});
