import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { Pools } from "../../src/pools.js";
import { createLogger } from "../../src/server/logging.js";
import { openStorage, type Storage } from "../../src/storage/open-storage.js";

const IDLE_MS = 1000;

let storage: Storage;
let pools: Pools;
let nowMs: number;
/** Namespaces in the order in which they were closed. */
let closed: string[];

beforeEach(async () => {
  const logger = createLogger("silent");
  const draftsEnd = { clockMs: () => nowMs, draftTimeoutMs: IDLE_MS };
  const opened = await openStorage("memory:", { limits: DEFAULT_LIMITS, logger, ...draftsEnd });
  closed = [];
  storage = {
    name: opened.name,
    hasFeed: opened.hasFeed,
    provider: (namespace) => opened.provider(namespace),
    risks: () => [],
    figures: (call) => opened.figures(call),
    listNamespaces: () => opened.listNamespaces(),
    release: async (namespace) => {
      closed.push(namespace);
      await opened.release(namespace);
    },
    close: () => opened.close(),
  };
  nowMs = 0;
  pools = new Pools(storage, DEFAULT_LIMITS, logger, () => nowMs);
});

describe("an idle namespace", () => {
  it("is closed, and opens again with everything that it holds", async () => {
    const first = pools.use("a");
    await first.rootPool.sessions.createSession({ sessionId: "s" });
    first.release();
    nowMs = IDLE_MS - 1;
    expect(await pools.closeIdle(IDLE_MS)).toBe(0);
    nowMs = IDLE_MS;
    expect(await pools.closeIdle(IDLE_MS)).toBe(1);
    expect([pools.size, closed]).toEqual([0, ["a"]]);
    const again = pools.use("a");
    expect(again.rootPool).not.toBe(first.rootPool);
    expect(await again.rootPool.sessions.getSession("s")).toMatchObject({ sessionId: "s" });
    again.release();
  });

  it("does not count as idle while a call or stream uses it, and counts from its last use", async () => {
    const [call, stream] = [pools.use("a"), pools.use("a")];
    nowMs = IDLE_MS;
    call.release();
    nowMs = 5 * IDLE_MS;
    expect(await pools.closeIdle(IDLE_MS)).toBe(0);
    stream.release();
    expect(await pools.closeIdle(IDLE_MS)).toBe(0);
    nowMs += IDLE_MS;
    expect(await pools.closeIdle(IDLE_MS)).toBe(1);
    expect(stream.rootPool).toBe(call.rootPool);
  });

  it("is closed when it has been idle for long enough itself", async () => {
    for (const namespace of ["a", "b", "c"]) {
      pools.use(namespace).release();
      nowMs += IDLE_MS / 2;
    }
    await pools.closeIdle(IDLE_MS);
    expect([pools.size, closed]).toEqual([1, ["a", "b"]]);
  });

  it("is not kept open by sweeps, and a sweep closes no namespace in use", async () => {
    const use = pools.use("used");
    await use.rootPool.sessions.createSession({ sessionId: "s" });
    const other = pools.use("idle");
    await other.rootPool.sessions.createSession({ sessionId: "s" });
    other.release();
    nowMs = IDLE_MS;
    await pools.sweep();
    await pools.closeIdle(IDLE_MS);
    expect(closed).toEqual(["idle"]);
    await pools.sweep();
    await pools.endAbandonedDrafts();
    expect([pools.size, closed]).toEqual([1, ["idle", "idle", "idle"]]);
    use.release();
  });

  it("has its abandoned drafts ended, although it is closed after each look at them", async () => {
    const { rootPool, release } = pools.use("a");
    await rootPool.sessions.createSession({ sessionId: "s" });
    await rootPool.sessions.drafts.start("s", { id: "d", role: "assistant", parts: [] });
    release();
    nowMs = IDLE_MS;
    await pools.closeIdle(IDLE_MS);
    expect(await pools.endAbandonedDrafts()).toBe(0);
    nowMs += IDLE_MS - 1;
    expect(await pools.endAbandonedDrafts()).toBe(0);
    nowMs += 1;
    expect([pools.size, await pools.endAbandonedDrafts()]).toEqual([0, 1]);
  });
});

it("a store waits for released namespaces when it is closed", async () => {
  let isFlushed = false;
  const provider = storage.provider("a");
  provider.close = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    isFlushed = true;
  };
  void storage.release("a");
  await pools.close();
  expect(isFlushed).toBe(true);
});
