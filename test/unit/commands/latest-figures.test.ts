import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LatestFigures } from "../../../src/commands/latest-figures.js";
import { Metrics } from "../../../src/server/call/metrics.js";
import type { StoreFigures } from "../../../src/storage/history/log-store.js";
import { TestLogger } from "../../support/test-logger.js";

const FIGURES: StoreFigures = { bytes: 4096, sessions: 3, openDrafts: 2, unsweptAgeMs: 1500, unindexed: 7 };
const STORE_METRIC = /^session_pool_(store_bytes|sessions|open_drafts|unswept_age_seconds|unindexed_messages) .*$/gm;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the metrics of the store", () => {
  it("show the latest figures", async () => {
    const { shown } = start(async () => FIGURES);
    await vi.advanceTimersByTimeAsync(0);
    expect(await shown()).toEqual([
      "session_pool_store_bytes 4096",
      "session_pool_sessions 3",
      "session_pool_open_drafts 2",
      "session_pool_unswept_age_seconds 1.5",
      "session_pool_unindexed_messages 7",
    ]);
  });

  it("leave out what the store cannot tell", async () => {
    const { shown } = start(async () => ({ sessions: 0, openDrafts: 0, unsweptAgeMs: 0 }));
    await vi.advanceTimersByTimeAsync(0);
    expect(await shown()).toEqual([
      "session_pool_sessions 0",
      "session_pool_open_drafts 0",
      "session_pool_unswept_age_seconds 0",
    ]);
  });

  it("are there at once while the store does not answer, and left out once they are old", async () => {
    let reads = 0;
    const { shown } = start(() => (reads++ === 0 ? Promise.resolve(FIGURES) : new Promise(() => {})));
    await vi.advanceTimersByTimeAsync(60_000);
    expect([reads, (await shown()).length]).toEqual([2, 5]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([reads, await shown()]).toEqual([2, []]);
  });

  it("come back after failures, each of which is logged", async () => {
    let fails = true;
    const { shown, log } = start(async () => {
      if (fails) throw new Error("No");
      return FIGURES;
    });
    await vi.advanceTimersByTimeAsync(30_000);
    expect([await shown(), log.map(({ msg }) => msg)]).toEqual([
      [],
      Array(2).fill("Figures about the store could not be read"),
    ]);
    fails = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await shown()).toHaveLength(5);
  });

  it("are read less often the longer that takes, and stay shown meanwhile", async () => {
    let reads = 0;
    const { shown } = start(async () => {
      reads++;
      await new Promise((resolve) => setTimeout(resolve, 5000));
      return FIGURES;
    });
    await vi.advanceTimersByTimeAsync(5000 + 499_000);
    expect([reads, (await shown()).length]).toEqual([1, 5]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(reads).toBe(2);
  });

  it("are not asked for again where the store has none, or after the end", async () => {
    let reads = 0;
    const none = start(async () => {
      reads++;
      return null;
    });
    const stopped = start(async () => {
      reads++;
      return FIGURES;
    });
    await vi.advanceTimersByTimeAsync(0);
    await stopped.figures.stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([reads, await none.shown()]).toEqual([2, []]);
  });
});

function start(read: () => Promise<StoreFigures | null>) {
  const logger = new TestLogger();
  const metrics = new Metrics();
  const figures = new LatestFigures(read, logger.pino);
  metrics.trackStore(() => figures.current);
  figures.start();
  const shown = async () => (await metrics.registry.metrics()).match(STORE_METRIC) ?? [];
  return { figures, shown, log: logger.lines };
}
