import { describe, expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import { MAX_ATTEMPTS } from "../../../../../src/storage/history/retries.js";
import { beforeWriting, goOn, idsOf, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, settle, told, World } from "../../../../simulation/world.js";

const TWO_MINUTES_MS = 120_000;

describe("an append that is answered long after its head was read, on a store that does not check names,", () => {
  it("succeeds when its log is still open", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const answer = await beforeWriting(writer, "a", "n");
    world.nowMs += TWO_MINUTES_MS;
    await goOn(writer);
    expect(await answer.of).toBe("at 1");
    expect(await world.process().ids("a")).toBe("m n");
  });

  it("succeeds when its log was closed since, and its message comes before those of the next log", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world);
    const answer = await beforeWriting(writer, "a", "m");
    world.nowMs += TWO_MINUTES_MS;
    writer.gates.close("answer of insert");
    await goOn(writer);
    expect(await world.process({ maxLogEntries: 1 }).say("a", "n")).toBe("at 1");
    await writer.gates.open("answer of insert");
    expect(await answer.of).toBe("at 0");
    expect(await world.process().ids("a")).toBe("m n");
  });

  it("fails with not_found when it has stored nothing because the session is gone", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const answer = await beforeWriting(writer, "a", "n");
    await world.process().say("a", "x");
    await world.process().deleteSession("a");
    world.nowMs += TWO_MINUTES_MS;
    await goOn(writer);
    expect(await answer.of).toBe("not_found");
  });
});

it("an append of an older message does not change the revision that callers see", async () => {
  const world = new World("atomic");
  const process = await sessionOf(world, "m@10", "n@30");
  const { sessionRevision } = world.record("a");
  expect(await process.say("a", "o@20")).toBe("at 1");
  expect(world.record("a").sessionRevision).toBe(sessionRevision);
});

describe("an append on a head that is out of date", () => {
  const expecting = (process: Process, id: string, timestampMicros: number, expectedPosition: number) => {
    const message = { id, role: "user", parts: [], timestampMicros };
    return told(process.logMessages("a", [message], { expectedPosition }).then(({ position }) => `at ${position}`));
  };

  it("finds the messages of its batch that another process has already appended", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    await world.process().say("a", "x");
    expect(await process.say("a", "x", "y")).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m x y");
  });

  it("fails with the error of the look-up of its ids", async () => {
    const process = await sessionOf(new World("atomic"), "m");
    process.gates.loseNext("findById");
    expect(await process.say("a", "x", "y")).toBe("unavailable");
    expect(await process.say("a", "x", "y")).toBe("at 1");
  });

  it("reads the head again before it refuses the expected position of an older message", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m@10", "n@30");
    await world.process().say("a", "o@15");
    expect(await expecting(process, "q", 20, 2)).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m o q n");
  });

  it("changes nothing when the expected position of an older message is wrong", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m@10", "n@30");
    const { log, revision } = world.record("a");
    expect(await expecting(process, "q", 20, 2)).toBe("aborted");
    expect(world.record("a")).toMatchObject({ log, revision });
  });

  it("before it refuses, opens the log that its own process has sealed, so that nobody waits", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m@10", "n@30");
    const { simStore } = process;
    const replaceRecord = simStore.replaceRecord.bind(simStore);
    simStore.replaceRecord = () => Promise.reject(new DomainError("unavailable", "The store is away"));
    expect(await told(process.truncateMessages("a", "m"))).toBe("unavailable");
    simStore.replaceRecord = replaceRecord;
    expect(await expecting(process, "q", 20, 2)).toBe("aborted");
    const beforeMs = world.nowMs;
    expect(await world.process().say("a", "o@40")).toBe("at 2");
    expect(world.nowMs).toBe(beforeMs);
  });
});

describe("an append", () => {
  it("with the id of an earlier append in the same turn is a retry of that one", async () => {
    const process = await sessionOf(new World("atomic"));
    const appends = [["x"], ["x", "y"]].map((ids) => ({
      messages: ids.map((id) => ({ id, role: "user", parts: [] })),
    }));
    const outcomes = await process.logTurn("a", appends);
    expect(outcomes.map((one) => one.ok && one.result.position)).toEqual([0, 0]);
    expect(await process.ids("a")).toBe("x y");
  });

  it("asks the store only once when the head is known", async () => {
    const process = await sessionOf(new World("atomic"), "m");
    const asked: string[] = [];
    for (const name of ["readRecord", "tail", "findById", "append"]) {
      process.gates.close(name, () => {
        asked.push(name);
        return false;
      });
    }
    expect(await process.say("a", "n")).toBe("at 1");
    expect(asked).toEqual(["append"]);
  });

  it("is answered only after the update time that it moves has been stored", async () => {
    const world = new World("weak");
    const process = world.process({ nowMicros: () => world.nowMs * 1000 });
    await process.createSession({ sessionId: "a" });
    world.nowMs += TWO_MINUTES_MS;
    process.gates.close("touchRecords");
    let answered = "";
    const answer = process.say("a", "m").then((answer) => {
      answered = answer;
    });
    await settle();
    expect([process.gates.waiting("touchRecords"), answered]).toEqual([1, ""]);
    await process.gates.open("touchRecords");
    await answer;
    expect(answered).toBe("at 0");
  });

  it("tries more than a hundred times as long as other writers make progress", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m");
    const { log } = world.record("a");
    const example = world.db.row(log, 1)?.entry;
    let others = 0;
    process.gates.close("append", () => {
      if (others++ > MAX_ATTEMPTS) return false;
      const [seq, id] = [others + 1, `other ${others}`];
      if (example) world.db.insert(log, { seq, id, entry: { ...example, seq, id } });
      return false;
    });
    expect(await process.say("a", "n")).toBe(`at ${MAX_ATTEMPTS + 2}`);
  });

  it("fails with internal when the segments of its session can never be merged, and reports why", async () => {
    const world = new World("atomic");
    await sessionOf(world, "m", "n");
    await world.process().updateMessage("a", "n", { parts: [{ id: "", type: "text", text: "new" }] });
    const anomalies: string[] = [];
    const process = world.process({ maxSegments: 1, onAnomaly: (text) => anomalies.push(text) });
    process.simStore.replaceRecord = async () => null;
    expect(await process.say("a", "o")).toBe("internal");
    expect(anomalies.join()).toMatch(/^Session "a" is damaged: The history has changed meanwhile \(uid .*\)$/);
  });

  it("of an older message does not write the message again when the title changes meanwhile", async () => {
    const world = new World("atomic");
    const process = await sessionOf(world, "m@10", "n@30");
    process.gates.close("seal");
    const answer = process.say("a", "q@20");
    await settle();
    const { namedLogs } = world.record("a");
    await world.process().updateSession("a", { title: "new" });
    await process.gates.open("seal");
    expect(await answer).toBe("at 1");
    const { segments, namedLogs: left } = world.record("a");
    expect(segments[1]).toEqual({ log: namedLogs[0]?.log, first: 1, last: 1 });
    expect(left).toEqual([]);
  });

  it("of an older message wakes the followers of the same process", async () => {
    const pause = (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
    const world = new World("atomic");
    await sessionOf(world, "m@10", "n@30");
    const process = world.process({ pause });
    const stop = new AbortController();
    const events = await process.followMessages("a", undefined, { signal: stop.signal });
    const iterator = events[Symbol.asyncIterator]();
    const next = told(iterator.next().then(({ value }) => `${value.kind} ${value.messageCount}`));
    await settle();
    expect(await process.say("a", "q@20")).toBe("at 1");
    expect(await next).toBe("truncated 1");
    stop.abort();
    await iterator.return?.();
  });

  it("of an older message succeeds when the session expires meanwhile, but the next one fails", async () => {
    let nowMicros = 50;
    const process = new World("atomic").process({ nowMicros: () => nowMicros });
    await process.createSession({ sessionId: "a", expireTimeMicros: 100 });
    await process.say("a", "m@10", "n@30");
    const appends = [20, 40].map((timestampMicros) => {
      return { messages: [{ id: `q${timestampMicros}`, role: "user", parts: [], timestampMicros }] };
    });
    process.gates.close("answer of replaceRecord");
    const turn = process.logTurn("a", appends);
    await settle();
    await process.gates.letOne("answer of replaceRecord");
    nowMicros = 100;
    await process.gates.open("answer of replaceRecord");
    expect(await turn).toMatchObject([{ result: { position: 1 } }, { error: { code: "not_found" } }]);
  });
});
