import type { ClientSession, Db, MongoClient, Timestamp } from "mongodb";
import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { LogStore } from "../history/log-store.js";
import { collectionsOf } from "./mongo-collections.js";
import type { AnswerTimes, MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";

/** The server's clock as far as this process knows it. */
export interface ServerClock {
  /** Implements {@link LogStore.knownTimeMs}. */
  knownMs(): number;
  /** Implements {@link LogStore.timeMs}. */
  timeMs(call?: Call): Promise<number>;
}

/**
 * The logical clock that every answer of a replica set carries. It advances with the primary's writes, is used here in
 * whole seconds, and survives elections; no clock of this machine is involved. An idle server advances it every ten
 * seconds, and the driver's heartbeats bring the new time.
 */
export class LogicalTimes implements AnswerTimes {
  readonly #client: MongoClient;
  #knownMs = 0;

  constructor(client: MongoClient, now: Timestamp) {
    this.#client = client;
    this.note(now);
    client.on("serverHeartbeatSucceeded", ({ reply }) => this.note(reply.$clusterTime?.clusterTime));
  }

  knownMs(): number {
    return this.#knownMs;
  }

  note(time: Timestamp | undefined): void {
    if (time) this.#knownMs = Math.max(this.#knownMs, millisOf(time));
  }

  start(): ClientSession {
    // With causal consistency, the driver would add `afterClusterTime` to a read that it repeats, which linearizable
    // reads do not allow.
    return this.#client.startSession({ causalConsistency: false });
  }

  end(session: ClientSession): void {
    this.note(session.clusterTime?.clusterTime);
    void session.endSession();
  }
}

/** The clock of servers whose answers carry a time. */
export class LogicalClock implements ServerClock {
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #times: LogicalTimes;
  readonly #commands: MongoCommands;

  constructor(client: MongoClient, db: Db, times: LogicalTimes, commands: MongoCommands) {
    this.#client = client;
    this.#db = db;
    this.#times = times;
    this.#commands = commands;
  }

  knownMs(): number {
    return this.#times.knownMs();
  }

  /** Returns the time of a small write of its own, because without writes the clock may stand still. */
  async timeMs(call?: Call): Promise<number> {
    const time = await this.#commands.settle(call, () =>
      this.#commands.write(call, ({ timeoutMS }) => this.#tick(timeoutMS)),
    );
    this.#times.note(time);
    return millisOf(time);
  }

  async #tick(timeoutMS: number): Promise<Timestamp> {
    const session = this.#client.startSession({ causalConsistency: true });
    try {
      const { schema } = collectionsOf(this.#db);
      await schema.updateOne({ _id: "clock" }, { $inc: { ticks: 1 } }, { upsert: true, session, timeoutMS });
    } catch (error) {
      // Another process has made the document meanwhile. The refusal carries a time, but perhaps not that of a write.
      if (duplicateKey(error)) return await this.#tick(timeoutMS);
      throw error;
    } finally {
      await session.endSession();
    }
    if (session.operationTime) return session.operationTime;
    throw new DomainError("unavailable", "MongoDB has answered without a time");
  }
}

/** Clocks of this machine; tests pass others. */
export interface LocalClocks {
  readonly steadyMs: () => number;
  readonly wallMs: () => number;
}

const LOCAL_CLOCKS: LocalClocks = { steadyMs: () => performance.now(), wallMs: Date.now };

/**
 * The clock of servers whose answers carry no time: the server's wall clock, advanced between its answers by the steady
 * or the wall clock of this machine, whichever has moved further, because the steady clock stops while a machine is
 * suspended and the wall clock may be set back. This is weaker, because the server's clock may be set, too.
 */
export class WallClock implements ServerClock {
  readonly #db: Db;
  readonly #commands: MongoCommands;
  readonly #local: LocalClocks;
  #steadyMs: number;
  #wallMs: number;
  #knownMs = 0;

  constructor(db: Db, commands: MongoCommands, local: LocalClocks = LOCAL_CLOCKS) {
    this.#db = db;
    this.#commands = commands;
    this.#local = local;
    this.#steadyMs = local.steadyMs();
    this.#wallMs = local.wallMs();
  }

  knownMs(): number {
    const steadyMs = this.#local.steadyMs();
    const wallMs = this.#local.wallMs();
    this.#knownMs += Math.max(0, steadyMs - this.#steadyMs, wallMs - this.#wallMs);
    this.#steadyMs = steadyMs;
    this.#wallMs = wallMs;
    return this.#knownMs;
  }

  async timeMs(call?: Call): Promise<number> {
    // The driver repeats reads by itself, but not plain commands.
    const hello = await this.#commands.settle(call, () =>
      this.#commands.read(call, (limits) => this.#db.command({ hello: 1 }, limits)),
    );
    // DocumentDB answers with a number.
    const timeMs = Number(hello.localTime);
    this.#knownMs = Math.max(this.knownMs(), timeMs);
    return timeMs;
  }
}

/** The server's logical time; undefined where answers carry none, as on standalone servers and DocumentDB. */
export async function readLogicalTime(db: Db): Promise<Timestamp | undefined> {
  const { $clusterTime, operationTime } = await db.command({ ping: 1 });
  return operationTime && $clusterTime?.clusterTime;
}

function millisOf(time: Timestamp): number {
  return time.getHighBitsUnsigned() * 1000;
}
