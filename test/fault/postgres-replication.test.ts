import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { arriving, begun, naming } from "../contract/log-store/attachment-fixtures.js";
import { created, entry, fill, own, record, seqs } from "../contract/log-store/fixtures.js";
import { poll } from "../support/poll.js";
import { type PostgresPair, startPostgresPair } from "../support/postgres-pair.js";
import { type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import { freshSchemaUrl, query } from "../support/postgres-server.js";

const WAITING = "application_name = 'session-pool' AND wait_event = 'SyncRep'";

const pair: PostgresPair | null = await startPostgresPair({ synchronous: true, fast: true });
let proxy: PostgresProxy;
let database: PostgresLogDatabase;
let store: LogStore;

beforeAll(async () => {
  if (pair) proxy = await startPostgresProxy(pair.primary.process.port);
});
afterAll(async () => {
  await proxy?.close();
  await pair?.stop();
});
beforeEach(async () => {
  if (!pair) return;
  const url = new URL(freshSchemaUrl(pair.primary));
  url.port = String(proxy.port);
  url.searchParams.set("listen", "off");
  database = await PostgresLogDatabase.connect(url.href);
  store = database.namespace("default");
});
afterEach(async () => {
  if (pair) await pair.resumeReplication();
  await database?.close();
});

function waiting(): Promise<readonly Record<string, unknown>[]> {
  return query(pair!.primary.url, `SELECT pid, query FROM pg_stat_activity WHERE ${WAITING}`);
}

/** Cancels the commit that waits for the standby. Resolves when one on another connection waits. */
async function cancelCommit(): Promise<void> {
  await poll(async () => (await waiting()).length === 1, "a commit waits for the standby");
  const [before] = await waiting();
  await query(pair!.primary.url, `SELECT pg_cancel_backend(${before?.pid})`);
  await poll(async () => (await waiting()).some(({ pid }) => pid !== before?.pid), "another commit waits");
}

const isCreation = (text: string) => /INSERT INTO \S+sessions.*ON CONFLICT DO NOTHING/s.test(text);

interface Write {
  readonly name: string;
  prepare?(): Promise<unknown>;
  run(): Promise<unknown>;
  readonly answer: unknown;
}

const hidden = { sessionId: "s", deleted: true, restoring: true } as const;
const WRITES: readonly Write[] = [
  {
    name: "append",
    prepare: () => fill(store, "u.1", 1, 2),
    run: () => store.append("u.1", 3, [entry("u.1", 3)]),
    answer: 1,
  },
  { name: "seal", prepare: () => fill(store, "u.1", 1, 2), run: () => store.seal("u.1"), answer: 2 },
  {
    name: "createRecord",
    run: () => store.createRecord(record("u", { sessionId: "s" })),
    answer: "created",
  },
  {
    name: "replaceRecord",
    prepare: () => created(store, "u", { sessionId: "s" }),
    run: () => store.replaceRecord(record("u", { sessionId: "s", title: "mine", revision: 1 }), 0),
    answer: expect.objectContaining({ title: "mine", revision: 1 }),
  },
  {
    name: "publishRecord",
    prepare: () => store.createRecord(record("u", hidden)),
    run: () => store.publishRecord(record("u", { sessionId: "s" })),
    answer: "published",
  },
  {
    name: "append that names an attachment",
    prepare: () => own(store, "u.1"),
    run: () => store.append("u.1", 1, [naming("u.1", 1, ["a", "u.2"])]),
    answer: 1,
  },
  {
    name: "begin of an attachment",
    prepare: () => created(store, "u"),
    run: async () => store.attachments?.begin(arriving("u.2")),
    answer: "stored",
  },
  {
    name: "putPiece",
    prepare: () => begun(store, "u.2"),
    run: async () => store.attachments?.putPiece("u.2", 1, Buffer.from("piece")),
    answer: "stored",
  },
  {
    name: "complete of an attachment",
    prepare: () => begun(store, "u.2"),
    run: async () => store.attachments?.complete({ log: "u.2", size: 0, sha256: "", createTimeMicros: 1, seenMs: 1 }),
    answer: expect.objectContaining({ state: "stored" }),
  },
  {
    name: "change of an attachment",
    prepare: () => begun(store, "u.2"),
    run: async () => store.attachments?.change("u.2", { seenMs: 0, state: "doomed" }),
    answer: undefined,
  },
];

describe.skipIf(!pair)("a commit whose wait for the standby is canceled", () => {
  it.each(WRITES)("of $name is acknowledged only when the standby has it", async ({ prepare, run, answer }) => {
    await prepare?.();
    await pair!.cutReplication();
    let isAnswered = false;
    const answered = run().finally(() => {
      isAnswered = true;
    });
    answered.catch(() => {});
    await cancelCommit();
    // What reads the outcome back waits as well, and so does the next one.
    await cancelCommit();
    expect(isAnswered).toBe(false);
    await pair!.resumeReplication();
    expect(await answered).toEqual(answer);
  });

  it("of a record that takes the place of a blocker is acknowledged only when the standby has it", async () => {
    const lost = proxy.meet((text) => (isCreation(text) ? "lost" : undefined));
    const answered = store.createRecord(record("u", { sessionId: "s" }));
    let isAnswered = false;
    void answered.then(() => {
      isAnswered = true;
    });
    await lost.first;
    let release: (() => void) | undefined;
    proxy.meet((text) => {
      if (text.includes("blocked = false")) release ??= proxy.hold();
      return undefined;
    });
    await poll(() => release !== undefined, "the uid is blocked");
    await pair!.cutReplication();
    release?.();
    await cancelCommit();
    expect(isAnswered).toBe(false);
    await pair!.resumeReplication();
    expect(await answered).toBe("created");
  });

  it("of a count is unknown, and not repeated", async () => {
    await created(store, "u", { sessionId: "s" });
    await pair!.cutReplication();
    const raised = store.raiseForks("s");
    raised.catch(() => {});
    await poll(async () => (await waiting()).length === 1, "a commit waits for the standby");
    await query(pair!.primary.url, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`);
    await expect(raised).rejects.toMatchObject({ code: "unavailable" });
    await pair!.resumeReplication();
    expect(await store.readRecord("s")).toMatchObject({ forks: 1 });
  });

  it("because its call has ended is not acknowledged, and the next call goes on", async () => {
    await fill(store, "u.1", 1, 2);
    await pair!.cutReplication();
    const gone = new AbortController();
    const appended = store.append("u.1", 3, [entry("u.1", 3)], { signal: gone.signal });
    appended.catch(() => {});
    await poll(async () => (await waiting()).length === 1, "the commit waits for the standby");
    gone.abort();
    await expect(appended).rejects.toMatchObject({ code: "canceled" });
    await poll(async () => (await waiting()).length === 0, "the server has ended the wait");
    await pair!.resumeReplication();
    expect(await seqs(store, "u.1", 1, 9)).toEqual([1, 2, 3]);
    expect(await store.append("u.1", 4, [entry("u.1", 4)])).toBe(1);
  });
});

it.skipIf(!pair)("a standby is not opened", async () => {
  await expect(PostgresLogDatabase.connect(pair!.standby.url)).rejects.toMatchObject({
    code: "unavailable",
    message: "PostgreSQL is a standby",
  });
});

describe.skipIf(!pair)("a server that warns in another language", () => {
  it("has not acknowledged a write, which is read back or unknown", async () => {
    await fill(store, "u.1", 1, 2);
    proxy.meet((text) => (text.includes("append_one") ? "warned" : undefined));
    proxy.statements.length = 0;
    expect(await store.append("u.1", 3, [entry("u.1", 3)])).toBe(1);
    expect(proxy.statements).toContainEqual(expect.stringContaining("confirmed"));
    proxy.meet((text) => (text.includes("forks + $3") ? "warned" : undefined));
    await expect(store.addFork("u", 1)).rejects.toMatchObject({ code: "unavailable" });
  });
});
