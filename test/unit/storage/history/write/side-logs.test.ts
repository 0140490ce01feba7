import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import { MessageBody } from "../../../../../src/domain/message-body.js";
import { type Head, visibleSegments } from "../../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../../src/storage/history/log-store.js";
import { EditorWait } from "../../../../../src/storage/history/write/editor-wait.js";
import { RecordReplacer } from "../../../../../src/storage/history/write/record-replacer.js";
import { RecordWriter } from "../../../../../src/storage/history/write/record-writer.js";
import { type SideLog, SideLogs, type Unplaced } from "../../../../../src/storage/history/write/side-logs.js";
import { cut, idsOf, sessionOf, sweepLater } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

let world: World;
let process: Process;
let sideLogs: SideLogs;

beforeEach(async () => {
  world = new World("atomic");
  await sessionOf(world, "m@10", "n@90");
  process = world.process({ chunk: 2 });
  const { context } = process;
  const replacer = new RecordReplacer(context);
  const writer = new RecordWriter(context, replacer, async ({ record }) => record.drafts);
  sideLogs = new SideLogs({ context, replacer, writer, editorWait: new EditorWait(context, writer) });
});

const load = async () => (await process.context.load("a")) as Head;
const names = () => world.record("a").namedLogs.map(({ log }) => log);
const retitle = (title: string) => world.process().updateSession("a", { title });

function message(id: string): Unplaced {
  const body = MessageBody.of({ parts: [] });
  return { id, timestampMicros: 20, role: "user", body, sessionId: "a", originSessionId: "a", remaining: 0 };
}

/** Puts what a side log holds before everything else. Notes in `planned` how often this was planned. */
function inFront(side: SideLog, planned: Head[] = []) {
  return async (now: Head) => {
    planned.push(now);
    const segments = [{ log: side.log, first: 1, last: 1 }, ...visibleSegments(now)];
    return { answer: "done", change: { segments, lastTimestampMicros: 90, undo: null, kept: 0 } };
  };
}

describe("a side log", () => {
  it("has its name while it is written, beside those of others, and none after the edit", async () => {
    const head = await load();
    const outcome = await sideLogs.using(head.record, {}, async (side) => {
      return sideLogs.using(side.record, {}, async (other) => {
        expect(names()).toEqual([side.log, other.log]);
        expect(await sideLogs.append(side, head, 0, [message("x")])).toBe(true);
        const done = await sideLogs.commit(head, side, inFront(side));
        expect(names()).toEqual([other.log]);
        return done;
      });
    });
    expect(outcome).toBe("done");
    expect(await idsOf(world, "a")).toBe("x m n");
  });

  it.each([
    ["gives up", async () => null],
    ["fails", () => Promise.reject(new Error("no"))],
  ])("loses its name when its writer %s", async (_what, write) => {
    await sideLogs.using((await load()).record, {}, write).catch(() => {});
    expect(world.record("a")).toMatchObject({ namedLogs: [], revision: 3 });
  });

  it("loses its name after the end of the call, which does not wait for that", async () => {
    const { record } = await load();
    process.gates.close("replaceRecord", ([next]) => (next as SessionRecord).namedLogs.length === 0);
    const end = new AbortController();
    const ended = new DomainError("canceled", "The call has ended");
    const written = sideLogs.using(record, { signal: end.signal }, async () => {
      end.abort();
      throw ended;
    });
    await expect(written).rejects.toBe(ended);
    expect(names()).toHaveLength(1);
    await process.gates.open("replaceRecord");
    expect(names()).toEqual([]);
  });

  it("gets and loses its name even when the title changes meanwhile", async () => {
    const { record } = await load();
    process.gates.close("replaceRecord");
    const written = sideLogs.using(record, {}, async ({ log }) => {
      expect(names()).toEqual([log]);
      process.gates.close("replaceRecord");
      return null;
    });
    await settle();
    await retitle("one");
    await process.gates.open("replaceRecord");
    await settle();
    await retitle("two");
    await process.gates.open("replaceRecord");
    expect(await written).toBeNull();
    expect(world.record("a")).toMatchObject({ namedLogs: [], title: "two" });
  });

  it("takes the place of the oldest name when a record has 32", async () => {
    const stop = new Error("stop");
    const nest = async (record: SessionRecord, left: number): Promise<null> =>
      sideLogs.using(record, {}, (side) => {
        if (left === 0) throw stop;
        return nest(side.record, left - 1);
      });
    const first: string[] = [];
    const watched = sideLogs.using((await load()).record, {}, async (side) => {
      first.push(side.log);
      return nest(side.record, 31).catch(() => {
        throw stop;
      });
    });
    process.gates.close("replaceRecord", ([record]) => {
      const { namedLogs } = record as SessionRecord;
      expect(namedLogs.length).toBeLessThanOrEqual(32);
      return false;
    });
    await expect(watched).rejects.toBe(stop);
    expect(world.record("a").dropped.map(({ log }) => log)).toContain(first[0]);
  });

  it("does not exist in a session that is gone", async () => {
    const { record } = await load();
    await world.process().deleteSession("a");
    expect(await sideLogs.using(record, {}, async () => "written")).toBeNull();
  });

  it("takes messages in chunks, until a place or an id is taken", async () => {
    const head = await load();
    await sideLogs.using(head.record, {}, async (side) => {
      const messages = ["u", "v", "w", "x", "y"].map(message);
      expect(await sideLogs.append(side, head, 0, messages)).toBe(true);
      expect(world.db.rows(side.log).map(({ id }) => id)).toEqual(["u", "v", "w", "x", "y"]);
      expect(await sideLogs.append(side, head, 4, [message("z")])).toBe(false);
      expect(await sideLogs.append(side, head, 5, [message("x")])).toBe(false);
      return null;
    });
  });
});

describe("an edit that names entries of a side log", () => {
  /** Writes x to a side log, lets `change` happen, and commits. Resolves to the outcome and the number of plans. */
  async function commitAfter(change: () => Promise<unknown>): Promise<readonly [string, number]> {
    const head = await load();
    const planned: Head[] = [];
    const outcome = await told(
      sideLogs.using(head.record, {}, async (side) => {
        await sideLogs.append(side, head, 0, [message("x")]);
        await change();
        return sideLogs.commit(head, side, inFront(side, planned));
      }),
    );
    return [outcome, planned.length];
  }

  it.each([
    ["an append", () => world.process().say("a", "o@95"), "x m n o"],
    ["another title", () => retitle("new"), "x m n"],
    ["a truncate", () => cut(world.process(), "a", "m"), "x m"],
    ["an update", () => world.process().updateMessage("a", "m", { role: "tool" }), "x m n"],
    ["another older message", () => world.process().say("a", "l@15"), "x m l n"],
  ])("is planned once more on the newest state after %s", async (_what, change, shown) => {
    expect(await commitAfter(change)).toEqual(["done", 2]);
    expect(await idsOf(world, "a")).toBe(shown);
  });

  it("is given up when a sweep has taken the name away, as if its writer had died", async () => {
    expect(await commitAfter(() => sweepLater(world, 2))).toEqual(["null", 1]);
    expect(await idsOf(world, "a")).toBe("m n");
  });
});

describe("the log for older messages of version 0.1.0", () => {
  it("keeps what a session shows of it, and loses its name and the rest with the next change", async () => {
    const record = world.record("a");
    const log = `${record.uid}.old`;
    const named = { ...record, revision: 2, namedLogs: [{ log, purpose: "older" as const }] };
    world.db.replaceRecord(named, 1, {});
    const entries = ["k", "lost"].map((id, i) => ({ ...message(id), timestampMicros: 5, log, seq: i + 1 }));
    expect(await process.simStore.append(log, 1, entries)).toBe(2);
    const segments = [{ log, first: 1, last: 1 }, ...visibleSegments(await load())];
    await process.simStore.seal(record.log);
    const next = { ...named, revision: 3, segments, log: `${record.uid}.next`, lastTimestampMicros: 90 };
    world.db.replaceRecord(next, 2, {});

    expect(await idsOf(world, "a")).toBe("k m n");
    expect(await world.process().say("a", "l@15")).toBe("at 2");
    expect(names()).toEqual([]);
    await sweepLater(world);
    expect(await idsOf(world, "a")).toBe("k m l n");
    expect(world.db.rows(log).map(({ id }) => id)).toEqual(["k"]);
  });
});
