import { beforeEach, describe, expect, it } from "vitest";
import { MessageBody } from "../../../../src/domain/message-body.js";
import type { Head } from "../../../../src/storage/history/heads.js";
import { NamedLogs } from "../../../../src/storage/history/write/named-logs.js";
import { RecordReplacer } from "../../../../src/storage/history/write/record-replacer.js";
import { SideLogs, type Unplaced, type Written } from "../../../../src/storage/history/write/side-logs.js";
import { sessionOf } from "../../../simulation/rule-schedules/scenes.js";
import { type Process, World } from "../../../simulation/world.js";

let world: World;
let process: Process;
let sideLogs: SideLogs;

beforeEach(async () => {
  world = new World("atomic");
  await sessionOf(world, "m@10", "n@90");
  process = world.process({ chunk: 2 });
  sideLogs = new SideLogs(process.context, new NamedLogs(process.context, new RecordReplacer(process.context)));
});

const load = async () => (await process.context.load("a")) as Head;

function message(id: string, timestampMicros: number, text = ""): Unplaced {
  const body = MessageBody.of({ parts: [{ id: "1", type: "text", text }] });
  return { id, timestampMicros, role: "user", body, sessionId: "a", originSessionId: "a", owed: 0 };
}

const idsIn = (log: string) => world.db.rows(log).map(({ id }) => id);

describe("what an earlier attempt has written to a side log", () => {
  const given = [message("x", 20), message("y", 30)];
  let earlier: Written;

  beforeEach(async () => {
    earlier = (await sideLogs.write(await load(), given, null)) as Written;
    expect(idsIn(earlier.attempt.log)).toEqual(["x", "y"]);
  });

  it("is used again for the same messages", async () => {
    const same = [message("x", 20), message("y", 30)];
    const again = await sideLogs.write(await load(), same, earlier.attempt);
    expect(again?.attempt).toBe(earlier.attempt);
    expect(idsIn(earlier.attempt.log)).toEqual(["x", "y"]);
  });

  it.each([
    ["another id", [message("x", 20), message("z", 30)]],
    ["another time", [message("x", 20), message("y", 31)]],
    ["other content", [message("x", 20), message("y", 30, "new")]],
    ["one message less", [message("x", 20)]],
    ["one message more", [...given, message("z", 40)]],
    ["another order", [message("y", 30), message("x", 20)]],
  ])("is not used again with %s", async (_what, messages) => {
    const written = (await sideLogs.write(await load(), messages, earlier.attempt)) as Written;
    const { log, base } = written.attempt;
    expect(written.attempt).not.toBe(earlier.attempt);
    const entries = world.db.rows(log).slice(base);
    expect(entries.map(({ entry }) => [entry?.id, entry?.timestampMicros, entry?.body.parts])).toEqual(
      messages.map(({ id, timestampMicros, body }) => [id, timestampMicros, body.parts]),
    );
  });

  it("is not used again once the record no longer names its log", async () => {
    await world.process({ chunk: 2 }).updateSession("a", { title: "new" });
    const { record } = await load();
    const namedLogs = new NamedLogs(process.context, new RecordReplacer(process.context));
    await namedLogs.unname(record, earlier.attempt.log);
    const written = (await sideLogs.write(await load(), given, earlier.attempt)) as Written;
    expect(written.attempt.log).not.toBe(earlier.attempt.log);
  });
});

it("a log for copies takes no further messages after them", async () => {
  const begun = (await sideLogs.beforeCopy(await load(), null)) as Written;
  const written = (await sideLogs.write(begun.head, [message("x", 20)], begun.attempt)) as Written;
  expect(written.attempt).toMatchObject({ log: begun.attempt.log, base: 0, isCopy: true });
  expect(await sideLogs.write(written.head, [message("y", 20)], written.attempt)).toBeNull();
  expect(idsIn(begun.attempt.log)).toEqual(["x"]);
});

it("messages are written in chunks, until a place or an id is taken", async () => {
  const { head, attempt } = (await sideLogs.beforeCopy(await load(), null)) as Written;
  const messages = ["u", "v", "w", "x", "y"].map((id) => message(id, 20));
  expect(await sideLogs.append(head, attempt.log, 0, messages)).toBe(true);
  expect(idsIn(attempt.log)).toEqual(["u", "v", "w", "x", "y"]);
  expect(await sideLogs.append(head, attempt.log, 4, [message("z", 20)])).toBe(false);
  expect(await sideLogs.append(head, attempt.log, 5, [message("x", 20)])).toBe("idTaken");
});
