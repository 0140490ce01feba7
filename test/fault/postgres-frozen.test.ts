import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entry, fill, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { OPERATIONS } from "./store-operations.js";

const CONNECTIONS = 4;
/** How long a call without a deadline may take. A busy server needs much less for its answer. */
const LIMIT_MS = 3000;
/** Ends what would otherwise wait for ever, because nothing wakes the server before the call has ended. */
const SOON = { timeout: 60_000 };

const server = await startOwnPostgresServer({ fast: true });
const operations = OPERATIONS.filter(({ name }) => name !== "touchRecords");
let database: PostgresLogDatabase;
let store: LogStore;

beforeAll(async () => {
  if (server) database = await open();
});
afterEach(() => server?.process.thaw());
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

async function open(): Promise<PostgresLogDatabase> {
  const url = new URL(freshSchemaUrl(server!));
  url.searchParams.set("connections", String(CONNECTIONS));
  const opened = await PostgresLogDatabase.connect(url.href, { timeoutMs: LIMIT_MS });
  store = opened.namespace("default");
  return opened;
}

/** Resolves when the server goes on after an earlier case. */
async function untilAnswered(): Promise<void> {
  await poll(
    () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    "the server answers",
  );
}

/** Has a connection at hand, so that a call is sent before it ends. */
async function freeze(): Promise<void> {
  await untilAnswered();
  await server!.process.freeze();
}

describe.skipIf(!server)("on a frozen server, the store", () => {
  it.each(operations)("ends $name at its deadline, when its caller aborts it, and goes on", SOON, async ({ run }) => {
    await freeze();
    await expect(run(store, { deadlineMs: Date.now() + 200 })).rejects.toMatchObject({ code: "deadline_exceeded" });
    const gone = new AbortController();
    const ended = run(store, { signal: gone.signal });
    setImmediate(() => gone.abort());
    await expect(ended).rejects.toMatchObject({ code: "canceled" });
  });

  it(
    "ends calls without a deadline as `unavailable`, also those that wait for a turn or a connection",
    SOON,
    async () => {
      await untilAnswered();
      await fill(store, "back.1", 1, 1);
      await freeze();
      const ends: string[] = [];
      const note = (name: string, work: Promise<unknown>) =>
        work.then(
          () => ends.push(`${name}: answered`),
          ({ code }) => ends.push(`${name}: ${code}`),
        );
      const writes = Array.from({ length: 5 }, () => note("first", store.append("back.1", 2, [entry("back.1", 2)])));
      const reads = Array.from({ length: 5 }, () => note("first", store.readRecord("s")));
      // This begins when the first has ended. The others have begun with it, so they end before this.
      const last = Promise.race([...writes, ...reads]).then(() => note("last", store.readRecord("s")));
      await Promise.all([...writes, ...reads, last]);
      expect(ends).toEqual([...Array.from({ length: 10 }, () => "first: unavailable"), "last: unavailable"]);
      server!.process.thaw();
      await untilAnswered();
      const appendNext = async () => {
        const stored = await seqs(store, "back.1", 1, 9);
        expect(stored).toEqual(stored.map((_, i) => i + 1));
        expect(stored.length).toBeLessThanOrEqual(2);
        const next = stored.length + 1;
        return store.append("back.1", next, [entry("back.1", next, { id: "next" })]);
      };
      // It may have stored what it was sent while it was frozen, or does so only now and takes the place.
      expect((await appendNext()) || (await appendNext())).toBe(1);
      const pool = "SELECT pid FROM pg_stat_activity WHERE application_name = 'session-pool'";
      await poll(async () => (await query(server!.url, pool)).length <= CONNECTIONS, "no backend is left over");
    },
  );

  it("closes in time", SOON, async () => {
    const closing = await open();
    await created(closing.namespace("default"), "u");
    await freeze();
    const running = closing.namespace("default").readRecordByUid("u");
    running.catch(() => {});
    await closing.close({ deadlineMs: Date.now() + 300 });
    // `close` has not waited for the call, which ends by itself.
    await expect(running).rejects.toMatchObject({ code: "unavailable" });
    await expect(closing.namespace("default").readRecordByUid("u")).rejects.toMatchObject({ code: "unavailable" });
    store = database.namespace("default");
  });

  it("is not opened, and says so", SOON, async () => {
    const url = freshSchemaUrl(server!);
    await freeze();
    await expect(PostgresLogDatabase.connect(url)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/ does not answer/),
    });
  });
});
