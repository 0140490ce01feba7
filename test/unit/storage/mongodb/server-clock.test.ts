import { EventEmitter } from "node:events";
import { type ClientSession, type Db, type MongoClient, MongoServerError, Timestamp } from "mongodb";
import { beforeEach, describe, expect, it } from "vitest";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import {
  LogicalClock,
  LogicalTimes,
  readLogicalTime,
  WallClock,
} from "../../../../src/storage/mongodb/server-clock.js";

const at = (t: number, i = 1) => new Timestamp({ t, i });

/** A client whose answers carry the time `seconds`. */
class Client extends EventEmitter {
  seconds = 10;
  ended = 0;
  readonly sessions: Partial<ClientSession>[] = [];

  startSession(options: object): ClientSession {
    const session = { ...options, endSession: async () => void this.ended++ };
    this.sessions.push(session);
    return session as unknown as ClientSession;
  }

  /** Puts the time of an answer into the session of its command, as the driver does. */
  answer(session: ClientSession | undefined): void {
    Object.assign(session ?? {}, { clusterTime: { clusterTime: at(this.seconds) }, operationTime: at(this.seconds) });
  }
}

describe("the logical clock", () => {
  let client: Client;
  let times: LogicalTimes;
  let commands: MongoCommands;

  beforeEach(() => {
    client = new Client();
    times = new LogicalTimes(client as unknown as MongoClient, at(10));
    commands = new MongoCommands(5000, times);
  });

  it("has the time of an answer before the caller gets it, even for an error", async () => {
    expect(times.knownMs()).toBe(10_000);
    client.seconds = 12;
    await commands.read(undefined, async ({ session }) => client.answer(session));
    expect(times.knownMs()).toBe(12_000);
    client.seconds = 15;
    const refused = commands.write(undefined, async ({ session }) => {
      client.answer(session);
      throw new MongoServerError({ message: "no", code: 13 });
    });
    await expect(refused).rejects.toMatchObject({ code: "internal" });
    expect(times.knownMs()).toBe(15_000);
    expect(client.ended).toBe(2);
  });

  it("never goes back", async () => {
    client.seconds = 3;
    await commands.read(undefined, async ({ session }) => client.answer(session));
    client.emit("serverHeartbeatSucceeded", { reply: { $clusterTime: { clusterTime: at(4) } } });
    expect(times.knownMs()).toBe(10_000);
  });

  it("advances by heartbeats while no commands are sent", () => {
    client.emit("serverHeartbeatSucceeded", { reply: { $clusterTime: { clusterTime: at(70) } } });
    client.emit("serverHeartbeatSucceeded", { reply: {} });
    expect(times.knownMs()).toBe(70_000);
  });

  it("is read with a write, which is repeated when another process has just made its document", async () => {
    let writes = 0;
    const updateOne = async (_filter: object, _update: object, { session }: { session: ClientSession }) => {
      if (++writes === 1) throw new MongoServerError({ message: "E11000 duplicate key error", code: 11000 });
      client.seconds = 20;
      client.answer(session);
    };
    const db = { collection: () => ({ updateOne }) } as unknown as Db;
    const clock = new LogicalClock(client as unknown as MongoClient, db, times, commands);
    expect(await clock.timeMs()).toBe(20_000);
    expect(clock.knownMs()).toBe(20_000);
    expect(writes).toBe(2);
  });

  it("uses sessions without causal consistency, so that the driver adds no time to reads that it repeats", () => {
    times.start();
    expect(client.sessions).toMatchObject([{ causalConsistency: false }]);
  });
});

describe("the wall clock", () => {
  const local = { steady: 0, wall: 0 };
  let localTime: unknown;
  let clock: WallClock;

  beforeEach(async () => {
    Object.assign(local, { steady: 1000, wall: 5_000_000 });
    localTime = new Date(90_000);
    const db = { command: async () => ({ localTime }) } as unknown as Db;
    clock = new WallClock(db, new MongoCommands(5000), { steadyMs: () => local.steady, wallMs: () => local.wall });
    await clock.timeMs();
  });

  it("is the server's, whether it sends a date or a number", async () => {
    expect(clock.knownMs()).toBe(90_000);
    localTime = 95_000;
    expect(await clock.timeMs()).toBe(95_000);
    expect(clock.knownMs()).toBe(95_000);
  });

  it("advances by the steady clock when the machine's wall clock is set back", () => {
    local.wall -= 3_600_000;
    local.steady += 7;
    expect(clock.knownMs()).toBe(90_007);
  });

  it("advances by the machine's wall clock after a suspension, even if that clock was set back before", () => {
    local.wall -= 3_600_000;
    expect(clock.knownMs()).toBe(90_000);
    local.wall += 600_000;
    expect(clock.knownMs()).toBe(690_000);
  });

  it("never goes back", async () => {
    local.steady += 60_000;
    expect(clock.knownMs()).toBe(150_000);
    expect(await clock.timeMs()).toBe(90_000);
    expect(clock.knownMs()).toBe(150_000);
  });
});

describe("readLogicalTime", () => {
  it.each([
    ["a replica set", { operationTime: at(4), $clusterTime: { clusterTime: at(5) } }, at(5)],
    ["a standalone server", { ok: 1 }, undefined],
  ])("returns the logical time, if there is one, of %s", async (_name, answer, time) => {
    expect(await readLogicalTime({ command: async () => answer } as unknown as Db)).toEqual(time);
  });
});
