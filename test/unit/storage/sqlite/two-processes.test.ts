import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../src/storage/history/log-store.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

const SWEEP_AGE_MS = 600_000;
const message = (id: string, timestampMicros?: number) => ({ id, role: "user", parts: [], timestampMicros });

/** A process that has the file open, with a connection and caches of its own. */
interface Process {
  readonly database: SqliteLogDatabase;
  readonly store: LogStore;
  readonly provider: LogHistoryProvider;
}

let folder: string;
let jumpMs: number;
let first: Process;
let second: Process;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  jumpMs = 0;
  [first, second] = [await open(), await open()];
});

afterEach(async () => {
  for (const { provider, database } of [first, second]) {
    await provider.close();
    await database.close();
  }
  rmSync(folder, { recursive: true });
});

it.each([
  ["an older message", (p: LogHistoryProvider) => p.logMessages("a", [message("old", 5)])],
  ["a truncate", (p: LogHistoryProvider) => p.truncateMessages("a", "m1")],
  [
    "a delete and a create",
    async (p: LogHistoryProvider) => {
      await p.deleteSession("a");
      await p.createSession({ sessionId: "a" });
    },
  ],
])(
  "no append of a process whose head is older than %s is lost, even when the machine's clock jumps",
  async (_what, change) => {
    await first.provider.createSession({ sessionId: "a" });
    await first.provider.logMessages("a", [message("m1"), message("m2")]);
    await change(second.provider);
    await sweepAll();
    for (const id of ["x1", "x2"]) await first.provider.logMessages("a", [message(id)]);
    const ids = (await second.provider.getSessionMessages("a")).map(({ id }) => id);
    expect(ids.slice(-2)).toEqual(["x1", "x2"]);
  },
);

it("no append to a fork is lost when its creation is answered only after it was cut and swept", async () => {
  await first.provider.createSession({ sessionId: "a" });
  await first.provider.logMessages("a", [message("m1"), message("m2")]);
  const held = holdCreate(first.store);
  const forked = first.provider.forkConversation("a", "f", { as: "fork" });
  await held.carriedOut;
  await second.provider.truncateMessages("f", "m1");
  await second.provider.logMessages("f", [message("x")]);
  await sweepAll();
  held.release();
  await forked;
  for (const id of ["acked1", "acked2"]) await first.provider.logMessages("f", [message(id)]);
  expect(await idsOf(second, "f")).toEqual(["m1", "x", "acked1", "acked2"]);
  expect(await idsOf(first, "f")).toEqual(["m1", "x", "acked1", "acked2"]);
});

it("no append to a session is lost when its creation is answered only after it was recreated", async () => {
  const held = holdCreate(first.store);
  const created = first.provider.createSession({ sessionId: "a" });
  await held.carriedOut;
  await second.provider.logMessages("a", [message("m1")]);
  await second.provider.deleteSession("a");
  await second.provider.createSession({ sessionId: "a" });
  await second.provider.logMessages("a", [message("n1")]);
  await sweepAll();
  held.release();
  await created;
  for (const id of ["acked1", "acked2"]) await first.provider.logMessages("a", [message(id)]);
  expect(await idsOf(second, "a")).toEqual(["n1", "acked1", "acked2"]);
});

async function open(): Promise<Process> {
  const now = () => Date.now() + jumpMs;
  const database = await SqliteLogDatabase.open(join(folder, "my.db"), { now });
  const store = database.namespace("default");
  const options = { nowMicros: () => now() * 1000, clockMs: () => 0, sweepAgeMs: SWEEP_AGE_MS };
  return { database, store, provider: new LogHistoryProvider(store, options) };
}

/** Has the second process mark everything that is no longer named, and remove it after the sweep age. */
async function sweepAll(): Promise<void> {
  await second.provider.sweep();
  jumpMs += SWEEP_AGE_MS + 60_000;
  await second.provider.sweep();
}

/** Has the store carry out its next `createRecord` at once, but answer only when `release` is called. */
function holdCreate(store: LogStore): { readonly carriedOut: Promise<void>; readonly release: () => void } {
  const create = store.createRecord.bind(store);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const carriedOut = new Promise<void>((resolve) => {
    store.createRecord = async (...args) => {
      const answer = await create(...args);
      resolve();
      await released;
      return answer;
    };
  });
  return { carriedOut, release };
}

async function idsOf({ provider }: Process, sessionId: string): Promise<string[]> {
  return (await provider.getSessionMessages(sessionId)).map(({ id }) => id);
}
