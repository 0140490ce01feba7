import { EventEmitter } from "node:events";
import { type Db, MongoNetworkError, MongoServerError, ObjectId, Timestamp } from "mongodb";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { hasChangeStreams, MongoChanges } from "../../../../src/storage/mongodb/mongo-changes.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";

const NOW = new Timestamp({ t: 5, i: 1 });
const LOST = new MongoNetworkError("lost");

/** The lengths of the requested pauses, in milliseconds. The tests do not wait for them. */
const pauses = vi.hoisted(() => [] as number[]);
// Other tests in the same process may have loaded these modules without the mock, and must not get them with it.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

vi.mock("node:timers/promises", async (original) => ({
  ...(await original<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number) => {
    pauses.push(ms);
    return new Promise((resolve) => setImmediate(resolve));
  },
}));

interface Scripted {
  /** The sessions whose changes the stream reports. */
  readonly uids?: readonly string[];
  /** Whether the stream answers that nothing has changed. */
  readonly answers?: boolean;
  readonly error: Error;
}

/** A database whose change streams follow these scripts, one after the other. Later streams wait forever. */
function scripted(streams: readonly Scripted[]) {
  const watched: object[] = [];
  const watch = (_pipeline: unknown, options: object) => {
    const { uids = [], answers, error } = streams[watched.length] ?? {};
    watched.push(options);
    const stream = new EventEmitter();
    const closed = new Promise<void>((resolve) => stream.once("closed", resolve));
    const next = async () => {
      if (error) throw error;
      return null;
    };
    return Object.assign(stream, {
      close: async () => void stream.emit("closed"),
      tryNext: next,
      async *[Symbol.asyncIterator]() {
        if (answers) stream.emit("more");
        for (const uid of uids) {
          const fullDocument = { write: new ObjectId() };
          yield { _id: `token of ${uid}`, ns: { coll: "sessions" }, documentKey: { _id: uid }, fullDocument };
        }
        await next();
        await closed;
      },
    });
  };
  return { db: { command: async () => ({ operationTime: NOW }), watch } as unknown as Db, watched };
}

/** Follows the changes until all scripts have ended and one more stream is open. */
async function follow(streams: readonly Scripted[]) {
  const { db, watched } = scripted(streams);
  const failures: unknown[] = [];
  const changes = new MongoChanges(db, new WriteIds(), (_text, error) => failures.push(error));
  const told: string[] = [];
  await changes.subscribe((uid) => told.push(uid));
  await expect.poll(() => watched.length).toBe(streams.length + 1);
  await changes.close();
  return { told, watched, failures };
}

beforeEach(() => {
  pauses.length = 0;
});

describe("MongoChanges", () => {
  it("continues after the last reported change when the connection is lost", async () => {
    const { told, watched } = await follow([
      { error: LOST },
      { uids: ["a", "b"], error: LOST },
      { uids: ["c"], error: LOST },
    ]);
    expect(told).toEqual(["a", "b", "c"]);
    expect(watched).toMatchObject([
      { startAtOperationTime: NOW },
      { startAtOperationTime: NOW },
      { resumeAfter: "token of b" },
      { resumeAfter: "token of c" },
    ]);
  });

  it("starts at the present when the server has forgotten its position", async () => {
    const forgotten = new MongoServerError({ message: "gone", code: 286 });
    const { watched } = await follow([{ uids: ["a"], error: forgotten }]);
    expect(watched[1]).not.toHaveProperty("resumeAfter");
    expect(watched[1]).not.toHaveProperty("startAtOperationTime");
  });

  it("waits longer after each failure and reports only the first", async () => {
    const { failures } = await follow(Array.from({ length: 9 }, () => ({ error: LOST })));
    expect(failures).toEqual([LOST]);
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it("reports failures again and pauses briefly after the stream has worked", async () => {
    const { failures } = await follow([
      { error: LOST },
      { error: LOST },
      { answers: true, error: LOST },
      { uids: ["a"], error: LOST },
    ]);
    expect(failures).toEqual([LOST, LOST, LOST]);
    expect(pauses).toEqual([500, 1000, 500, 500]);
  });

  it("reports no failure when it is closed", async () => {
    const { failures } = await follow([]);
    expect(failures).toEqual([]);
  });
});

describe("hasChangeStreams", () => {
  it.each([
    ["a server that refuses the stage", 115],
    ["a standalone mongod", 40573],
    ["a user without the privilege", 13],
  ])("is false for %s", async (_name, code) => {
    const refused = new MongoServerError({ message: "no", code });
    expect(await hasChangeStreams(scripted([{ error: refused }]).db)).toBe(false);
  });

  it("is true for a server that answers", async () => {
    expect(await hasChangeStreams(scripted([]).db)).toBe(true);
  });

  it("cannot tell when the server does not answer", async () => {
    await expect(hasChangeStreams(scripted([{ error: LOST }]).db)).rejects.toBe(LOST);
  });
});
