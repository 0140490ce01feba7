import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { entry, fill, seqs } from "../contract/log-store/fixtures.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";
import { ATTACHMENT_OPERATIONS } from "./attachment-operations.js";
import { OPERATIONS } from "./store-operations.js";

/** Less than the driver's own limit of 30 s, so that the driver does not end the calls. */
const SOON = { timeout: 25_000 };
/** How long a call without a deadline may take. A busy server needs much less for its answer. */
const LIMIT_MS = 15_000;

const ALL = [...OPERATIONS, ...ATTACHMENT_OPERATIONS];

const server = await startMongoServer();
const frozen = server?.process;
let database: MongoLogDatabase;
let store: LogStore;

beforeAll(async () => {
  if (!frozen) return;
  database = await openMongoDatabase(server, { timeoutMs: LIMIT_MS });
  store = database.namespace("default");
});
/** Waits for a connection, because without one a call would end before it is sent. */
beforeEach(async () => {
  if (frozen) await expect.poll(isAnswering).toBe(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  frozen?.thaw();
});
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

function isAnswering(): Promise<boolean> {
  return store.ping().then(
    () => true,
    () => false,
  );
}

/**
 * If the driver did not keep a limit, a call would wait forever, because nothing wakes the server before the call has
 * ended.
 */
describe.skipIf(!frozen)("on a frozen server that these tests started, the store", () => {
  it.each(ALL)("ends $name at its deadline", SOON, async ({ run }) => {
    await frozen?.freeze();
    const ended = run(store, { deadlineMs: Date.now() + 200 });
    await expect(ended).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  it.each(ALL)("ends $name at its deadline when the clock is set back a little", SOON, async ({ run }) => {
    await frozen?.freeze();
    const ended = run(store, { deadlineMs: Date.now() + 200 });
    const nowMs = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => nowMs() - 10);
    await expect(ended).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  it.each(ALL)("ends $name when its caller aborts it", SOON, async ({ run }) => {
    const gone = new AbortController();
    await frozen?.freeze();
    const ended = run(store, { signal: gone.signal });
    setImmediate(() => gone.abort());
    await expect(ended).rejects.toMatchObject({ code: "canceled" });
  });

  it("ends a call without a deadline too, and serves the next one when it is back", async () => {
    await fill(store, "back.1", 1, 3);
    await frozen?.freeze();
    const calls = [store.readRange("back.1", 1, 3), store.append("back.1", 4, [entry("back.1", 4)])];
    await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ code: "unavailable" })));
    frozen?.thaw();
    await expect.poll(isAnswering).toBe(true);
    await expect.poll(() => seqs(store, "back.1", 1, 9)).toEqual(expect.arrayContaining([1, 2, 3]));
    // Meanwhile the server may store what it was sent while it was frozen.
    const appendNext = async () => {
      const { last } = await store.tail("back.1");
      const seq = (last?.seq ?? 0) + 1;
      return store.append("back.1", seq, [entry("back.1", seq, { id: "next" })]);
    };
    await expect.poll(appendNext).toBe(1);
    const found = await store.findById(["back.1"], ["m4"]);
    expect(found.length).toBeLessThanOrEqual(1);
  });
});
