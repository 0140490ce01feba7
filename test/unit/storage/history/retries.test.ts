import { describe, expect, it } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import { HistoryContext } from "../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../src/storage/history/log-store.js";
import { Again, MAX_ATTEMPTS, Retries } from "../../../../src/storage/history/retries.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";

const record = (revision: number) => ({ uid: "u", revision }) as SessionRecord;

function contextOf() {
  const waits: number[] = [];
  const told: string[] = [];
  const context = new HistoryContext(new MemoryLogDatabase().namespace("test"), {
    random: () => 1,
    pause: async (ms) => void waits.push(ms),
    onAnomaly: (text) => told.push(text),
  });
  return { context, waits, told };
}

describe("retrying", () => {
  it("fails with internal after 100 attempts on the same state, and reports that state", async () => {
    const { context, waits, told } = contextOf();
    let turns = 0;
    const run = context.retrying("s", undefined, async (saw) => {
      turns++;
      saw(record(3));
      throw new Again("entry 7 of log u.1 is missing");
    });
    await expect(run).rejects.toMatchObject({ code: "internal" });
    expect(turns).toBe(MAX_ATTEMPTS);
    expect(told).toEqual([`Session "s" is damaged: entry 7 of log u.1 is missing (uid u, revision 3)`]);
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(waits.at(-1)).toBe(500);
  });

  it("continues as long as others change the session, with waits that grow all the same", async () => {
    const { context, waits } = contextOf();
    let turns = 0;
    const run = context.retrying("s", undefined, async (saw) => {
      saw(record(turns++));
      if (turns < 5 * MAX_ATTEMPTS) throw new Again();
      return turns;
    });
    expect(await run).toBe(5 * MAX_ATTEMPTS);
    expect(waits.slice(0, 3)).toEqual([4, 6, 9]);
    expect(Math.max(...waits)).toBe(500);
  });

  it("ends with the call", async () => {
    const { context } = contextOf();
    const stop = new AbortController();
    const run = context.retrying("s", { signal: stop.signal }, async () => {
      stop.abort();
      throw new Again();
    });
    await expect(run).rejects.toMatchObject({ code: "canceled" });
  });

  it("repeats only attempts that asked to be repeated", async () => {
    const { context } = contextOf();
    const error = new DomainError("unavailable", "no");
    const run = context.retrying("s", undefined, async () => {
      throw error;
    });
    await expect(run).rejects.toBe(error);
  });
});

it("attempts on the same state are counted anew after progress", () => {
  const { context } = contextOf();
  const retries = new Retries(context.options, "s");
  for (let round = 0; round < 2; round++) {
    for (let turn = 1; turn < MAX_ATTEMPTS; turn++) retries.count([record(1)], "no progress");
    retries.reset();
  }
});
