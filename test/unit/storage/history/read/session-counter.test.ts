import { beforeAll, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

/** More than are counted. */
const SESSIONS = 12_000;

let provider: LogHistoryProvider;

beforeAll(async () => {
  provider = new LogHistoryProvider(new MemoryLogDatabase().namespace("default"), {});
  for (let i = 0; i < SESSIONS; i++) {
    const labels = { half: String(i % 2), part: String(i % 100) };
    await provider.createSession({ sessionId: `s${i}`, labels });
  }
});

async function totalOf(...labels: readonly string[]) {
  return (await provider.listSessions({ parentId: "", limit: 1, labels, withTotal: true })).total;
}

describe("the total of a list", () => {
  it("is an estimate above 10,000 sessions, which is close", async () => {
    const { size = 0, isEstimate } = (await totalOf()) ?? {};
    expect(isEstimate).toBe(true);
    // With a sample of 2,000, five standard deviations are 11 %.
    expect(Math.abs(size / SESSIONS - 1)).toBeLessThan(0.11);
  });

  it("is exact for a list of fewer, however many sessions there are", async () => {
    expect(await totalOf("half=1")).toEqual({ size: SESSIONS / 2, isEstimate: false });
    expect(await totalOf("part=7")).toEqual({ size: SESSIONS / 100, isEstimate: false });
    expect(await totalOf("part=7", "half=0")).toEqual({ size: 0, isEstimate: false });
  });
});
