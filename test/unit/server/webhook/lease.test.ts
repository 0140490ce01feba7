import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Lease, type Registers } from "../../../../src/server/webhook/lease.js";
import { MemoryRegisters } from "../../../../src/storage/memory/memory-registers.js";
import { poll } from "../../../support/poll.js";

/** So long that it passes only where a test waits for it. */
const EXPIRE_MS = 1000;
const NEVER_MS = 1_000_000;

let registers: MemoryRegisters;
/** The processes that work at present. */
let working: string[];
let stops: AbortController[];
let runs: Promise<void>[];
let failures: unknown[];

beforeEach(() => {
  registers = new MemoryRegisters();
  working = [];
  stops = [];
  runs = [];
  failures = [];
});
afterEach(async () => {
  for (const stop of stops) stop.abort();
  await Promise.all(runs);
});

interface Process {
  readonly shared?: Registers;
  readonly expireMs?: number;
}

/** Starts a process that works while it has the lease. Returns what stops it. */
function start(holder: string, { shared = registers, expireMs = NEVER_MS }: Process = {}): AbortController {
  const stop = new AbortController();
  const work = async (lost: AbortSignal) => {
    working.push(holder);
    const over = AbortSignal.any([lost, stop.signal]);
    await poll(() => over.aborted, "the work is to end");
    working = working.filter((one) => one !== holder);
  };
  const onFailure = (error: unknown) => failures.push(error);
  const lease = new Lease({ registers: shared, name: "lease", holder, onFailure, times: { renewMs: 10, expireMs } });
  stops.push(stop);
  runs.push(lease.run(work, stop.signal));
  return stop;
}

const isWorking = (holder: string) => poll(() => working.includes(holder), `${holder} works`);
/** Resolves once the lease was renewed this often from now on. */
async function renewed(times: number): Promise<void> {
  const { revision } = (await registers.read("lease")) ?? { revision: 0 };
  await poll(async () => ((await registers.read("lease"))?.revision ?? 0) >= revision + times, "the lease is renewed");
}

describe("the lease", () => {
  it("lets one process work, for as long as it renews it", async () => {
    for (const holder of ["a", "b", "c"]) start(holder);
    await poll(() => working.length > 0, "one works");
    const [first] = working;
    await renewed(50);
    expect(working).toEqual([first]);
  });

  it("is free at once when its holder stops, after its work has ended", async () => {
    const stop = start("a");
    await isWorking("a");
    start("b");
    stop.abort();
    await isWorking("b");
    expect(working).toEqual(["b"]);
  });

  it("is taken by another process when its holder does not renew it", async () => {
    // A process that was killed.
    await registers.replace("lease", "dead", 0);
    start("b", { expireMs: EXPIRE_MS });
    await isWorking("b");
    expect((await registers.read("lease"))?.text).toBe("b");
  });

  it("is given up by a holder that cannot reach the store, before it may be somebody else's", async () => {
    let isDown = false;
    const down: Registers = {
      read: async (name) => (isDown ? Promise.reject(new Error("down")) : registers.read(name)),
      replace: async (...args) => (isDown ? Promise.reject(new Error("down")) : registers.replace(...args)),
    };
    start("a", { shared: down, expireMs: EXPIRE_MS });
    await isWorking("a");
    isDown = true;
    await poll(() => working.length === 0, "a has stopped working");
    expect(failures.length).toBeGreaterThan(0);
    start("b", { expireMs: EXPIRE_MS });
    await isWorking("b");
    isDown = false;
    await renewed(20);
    expect(working).toEqual(["b"]);
  });

  it("is lost by a holder that wakes when another process has it", async () => {
    start("a");
    await isWorking("a");
    const { revision } = (await registers.read("lease")) ?? { revision: 0 };
    // Whoever is faster replaces it first.
    for (let next = revision; !(await registers.replace("lease", "other", next)); next++);
    await poll(() => working.length === 0, "a has stopped working");
  });

  it("stays with a holder whose renewal was stored although its answer was lost", async () => {
    let losing = 0;
    const losesAnswers: Registers = {
      read: (name) => registers.read(name),
      replace: async (...args) => {
        const isDone = await registers.replace(...args);
        if (++losing % 3 === 0) throw new Error("lost");
        return isDone;
      },
    };
    start("a", { shared: losesAnswers });
    await isWorking("a");
    await renewed(20);
    expect(failures.length).toBeGreaterThan(0);
    expect(working).toEqual(["a"]);
  });
});
