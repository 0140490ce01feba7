import { afterAll, describe, expect, it } from "vitest";
import { DomainError, type ErrorCode } from "../../src/domain/errors.js";
import { parseSearch, type SearchCursor } from "../../src/domain/search.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase, type PostgresOptions } from "../../src/storage/postgres/postgres-log-database.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const SESSIONS = 12;
const BATCHES = 15;
const BATCH = 10;

const END_BACKENDS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name LIKE 'session-pool%' AND random() < 0.5`;

const server = await startOwnPostgresServer({ fast: true });
afterAll(() => server?.stop());

describe.skipIf(!server)("searching on PostgreSQL under load", () => {
  it("finds each message once, and none that was erased, whoever has stored and indexed it", async () => {
    const url = freshSchemaUrl(server!);
    const opened: PostgresLogDatabase[] = [];
    const open = async (options: PostgresOptions) => {
      const database = await PostgresLogDatabase.connect(url, options);
      opened.push(database);
      return database;
    };
    // Two that search, and two that store messages without words.
    const databases = [await open({ search: true }), await open({ search: true }), await open({}), await open({})];
    const providers = databases.map(
      (database, i) => new LogHistoryProvider(database.namespace("default"), { search: i < 2 }),
    );
    const [one, two] = providers as [LogHistoryProvider, LogHistoryProvider];
    const erased = new Set<string>();
    let isOver = false;

    const write = async (session: number) => {
      const sessionId = `s${session}`;
      const provider = providers[session % providers.length] as LogHistoryProvider;
      await insist(() => provider.createSession({ sessionId }), "already_exists");
      for (let batch = 0; batch < BATCHES; batch++) {
        const messages = Array.from({ length: BATCH }, (_, i) => messageOf(`${sessionId}-${batch}-${i}`));
        await insist(() => provider.logMessages(sessionId, messages));
        const id = `${sessionId}-${batch}-${batch % BATCH}`;
        const eraser = providers[(session + batch) % providers.length] as LogHistoryProvider;
        await insist(() => eraser.eraseMessage(sessionId, id));
        erased.add(id);
      }
    };
    const look = async () => {
      while (!isOver) {
        await Promise.all(databases.slice(0, 2).map((database) => database.searchBuilt()));
        const before = new Set(erased);
        const found = await idsOf(one, "common");
        expect(new Set(found).size).toBe(found.length);
        expect(found.filter((id) => before.has(id))).toEqual([]);
        await query(server!.url, END_BACKENDS);
      }
    };
    const writing = Promise.all(Array.from({ length: SESSIONS }, (_, i) => write(i))).finally(() => {
      isOver = true;
    });
    await Promise.all([writing, look()]);

    // The index may have failed when its connection was ended. The next look goes on.
    await expect
      .poll(async () => {
        await databases[0]?.searchBuilt();
        return (await databases[0]?.figures())?.unindexed;
      })
      .toBe(0);
    const all = Array.from({ length: SESSIONS * BATCHES * BATCH }, (_, i) => {
      const session = Math.floor(i / (BATCHES * BATCH));
      return `s${session}-${Math.floor(i / BATCH) % BATCHES}-${i % BATCH}`;
    });
    const kept = all.filter((id) => !erased.has(id)).sort();
    for (const provider of [one, two]) expect((await idsOf(provider, "common")).sort()).toEqual(kept);
    expect(await idsOf(one, '"common s3-7-1"')).toEqual(["s3-7-1"]);
    for (const database of opened) await database.close();
  });
});

/** Repeats a call whose outcome is unknown because its connection was ended. */
async function insist<T>(call: () => Promise<T>, doneBefore?: ErrorCode): Promise<T | undefined> {
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (isRepeat && error.code === doneBefore) return undefined;
      if (error.code !== "unavailable") throw error;
    }
  }
}

function messageOf(id: string) {
  return { id, role: "user", parts: [{ id: "", type: "text", text: `common ${id}` }] };
}

/** The ids of all messages that a search finds, a page after the other. */
async function idsOf(provider: LogHistoryProvider, q: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: SearchCursor | undefined; ; ) {
    const page = await insist(() => provider.searchMessages({ terms: parseSearch(q), limit: 100, cursor }));
    ids.push(...(page?.hits ?? []).map(({ messageId }) => messageId));
    cursor = page?.next;
    if (cursor === undefined) return ids;
  }
}
