import { setMaxListeners } from "node:events";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Call } from "../../src/domain/call.js";
import type { SessionSnapshot } from "../../src/domain/session-image.js";
import { RootPool } from "../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { MongoStorageProvider } from "../../src/storage/mongodb/mongo-storage-provider.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";
import { startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { stallingStore } from "../support/stalling-store.js";
import { DRAFT_CALLS, PROVIDER_CALLS, ROOT_CALLS, SESSION_CALLS, TODO_CALLS } from "./stalled-calls.js";

/** A provider whose store can stop answering, and not begin again. */
interface Stalling {
  readonly provider: StorageProvider;
  stall(): void;
  close(): Promise<void>;
}

type AnyCalls = Readonly<Record<string, (target: never, call: Call, snapshot: SessionSnapshot) => Promise<unknown>>>;

const QUIET = { logger: { warn: () => {} } };
const server = await startMongoServer();
const open: Stalling[] = [];

afterEach(async () => {
  for (const stalling of open.splice(0)) await stalling.close();
});
afterAll(() => server?.stop());

interface StoreKind {
  readonly isHere: boolean;
  readonly isShared: boolean;
  readonly start: () => Promise<Stalling>;
}

const stores: readonly [string, StoreKind][] = [
  ["a store", { isHere: true, isShared: false, start: stallingMemory }],
  ["a MongoDB", { isHere: server !== null, isShared: true, start: stallingMongo }],
];

const targets: readonly [string, AnyCalls, (root: RootPool) => unknown][] = [
  ["StorageProvider", PROVIDER_CALLS, (root) => root.storage?.active],
  ["SessionPool", SESSION_CALLS, (root) => root.sessions],
  ["DraftPool", DRAFT_CALLS, (root) => root.sessions.drafts],
  ["TodoTracker", TODO_CALLS, (root) => root.todos],
  ["RootPool", ROOT_CALLS, (root) => root],
];

describe.each(stores)("while %s does not answer", (_store, kind) => {
  const { isHere, start } = kind;

  describe.skipIf(!isHere).each(targets)("each call of %s", (_target, calls, targetOf) => {
    it("ends at its deadline", async () => {
      const prepared = await prepareAll(kind, calls);
      const call = { deadlineMs: Date.now() + 200 };
      const ended = prepared.map(async ({ name, root, run, snapshot }) => {
        return [name, await codeOf(run(targetOf(root) as never, call, snapshot))] as const;
      });
      for (const one of await Promise.all(ended)) expect(one).toEqual([one[0], "deadline_exceeded"]);
    });

    it("ends when its signal is aborted", async () => {
      const prepared = await prepareAll(kind, calls);
      const caller = new AbortController();
      setMaxListeners(0, caller.signal);
      const call = { signal: caller.signal };
      const ended = prepared.map(async ({ name, root, run, snapshot }) => {
        return [name, await codeOf(run(targetOf(root) as never, call, snapshot))] as const;
      });
      await new Promise(setImmediate);
      caller.abort();
      for (const one of await Promise.all(ended)) expect(one).toEqual([one[0], "canceled"]);
    });
  });

  it.skipIf(!isHere)("a follower ends at its deadline", async () => {
    const { root, stall } = await prepare(start, false);
    // On a busy machine the deadline may pass before the first event. Then a later one is set.
    for (let [afterMs, hasBegun] = [1500, false]; !hasBegun; afterMs *= 2) {
      const reading = (async () => {
        const events = await root.sessions.followMessages("s", 0, { deadlineMs: Date.now() + afterMs });
        for await (const event of events) {
          if (!hasBegun) expect(event).toMatchObject({ kind: "appended" });
          hasBegun = true;
          stall();
        }
      })();
      expect(await codeOf(reading)).toBe("deadline_exceeded");
    }
  });

  it.skipIf(!isHere)("closing ends at its deadline", async () => {
    const { root } = await prepare(start);
    await root.close({ deadlineMs: Date.now() + 100 });
  });
});

/**
 * Prepares a store for each call but `close`, so that none waits for the turn of another; or one for all calls, where
 * making a store takes long.
 */
async function prepareAll({ isShared, start }: StoreKind, calls: AnyCalls) {
  const shared = isShared ? await prepare(start) : undefined;
  const tested = Object.entries(calls).filter(([name]) => name !== "close");
  return Promise.all(tested.map(async ([name, run]) => ({ name, run, ...(shared ?? (await prepare(start))) })));
}

/** Fills a store and stalls it. */
async function prepare(start: () => Promise<Stalling>, stalls = true) {
  const stalling = await start();
  open.push(stalling);
  const root = new RootPool({ storage: stalling.provider, ...QUIET });
  const { sessions } = root;
  for (const sessionId of ["s", "other"]) await sessions.createSession({ sessionId, labels: { a: "1" } });
  for (const id of ["m1", "m2", "m3"]) await sessions.appendMessage("s", { id, role: "user", parts: [] });
  await sessions.drafts.start("s", { id: "d", role: "user", parts: [] });
  await sessions.attachments.upload("s", { attachmentId: "a" }, Buffer.from("bytes"));
  await sessions.revertSession("s", "m2");
  await root.todos.add({ id: "t", content: "c", status: "pending", priority: "low" });
  const snapshot = (await stalling.provider.snapshotSession("s")) as SessionSnapshot;
  // An update time is still to be written.
  await sessions.appendMessage("other", { id: "late", role: "user", parts: [] });
  if (stalls) stalling.stall();
  return { root, snapshot, stall: stalling.stall };
}

async function stallingMemory(): Promise<Stalling> {
  const { store, stall } = stallingStore(new MemoryLogDatabase().namespace("default"));
  const provider = new LogHistoryProvider(store, { search: true, onAnomaly: () => {} });
  return { provider, stall, close: () => provider.close({ deadlineMs: Date.now() }) };
}

async function stallingMongo(): Promise<Stalling> {
  let isStalled = false;
  const proxy = await startMongoProxy(Number(new URL(server!.uri).port), {
    refuse: () => (isStalled ? new Promise(() => {}) : undefined),
  });
  const url = freshDatabaseUrl({ uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` });
  const provider = await MongoStorageProvider.connect(url, { search: true, onAnomaly: () => {} });
  return {
    provider,
    stall: () => {
      isStalled = true;
    },
    close: async () => {
      await provider.close({ deadlineMs: Date.now() });
      await proxy.close();
    },
  };
}

/** The code with which a promise was rejected, or `answered`. */
function codeOf(ended: Promise<unknown>): Promise<unknown> {
  return ended.then(
    () => "answered",
    (error: { code?: unknown }) => error.code ?? error,
  );
}
