import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { bundleChild, SqliteProcess } from "./sqlite-process.js";

const WRITERS = ["w0", "w1"];
/** How many answers each writer gives before it is killed. */
const ANSWERS = 60;

let folder: string;
let child: Awaited<ReturnType<typeof bundleChild>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  child = await bundleChild();
});
afterAll(() => {
  child.remove();
  rmSync(folder, { recursive: true });
});

it("a reader of the feed that resumes by its tokens misses nothing of two processes that are killed", async () => {
  const path = join(folder, "my.db");
  const database = await SqliteLogDatabase.open(path);
  const reader = new LogHistoryProvider(database.namespace("default"), { heartbeatMs: 300 });
  const counts = new Map<string, number>();
  let at: string | undefined;
  /** Takes events, at most this many, until nothing comes any more. */
  const take = async (most: number) => {
    let [left, heartbeats] = [most, 0];
    for await (const event of await reader.watchSessions({}, at)) {
      at = event.at;
      if (event.kind === "heartbeat" && ++heartbeats > 4) return;
      if (event.kind !== "created" && event.kind !== "changed") continue;
      counts.set(event.session.sessionId, event.session.messageCount);
      if (--left === 0) return;
    }
  };
  for await (const event of await reader.watchSessions({}, undefined)) {
    at = event.at;
    break;
  }

  const processes = WRITERS.map(() => new SqliteProcess(child.script, path));
  const writing = processes.map(async (process, i) => {
    const id = `session ${i}`;
    await process.tell({ do: "perform", operation: { op: "create", id, parent: null, title: null } });
    process.killAfter(ANSWERS);
    const count = Number.MAX_SAFE_INTEGER;
    await process.tell({ do: "appendMany", sessionId: id, writer: WRITERS[i] as string, count });
  });
  const ended = Promise.allSettled(writing);
  for (let i = 0; i < 3; i++) await take(2);
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await take(Number.POSITIVE_INFINITY);

  const { sessions } = await reader.listSessions({ parentId: "", view: "full", limit: 10 });
  expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(["session 0", "session 1"]);
  expect(counts).toEqual(new Map(sessions.map(({ sessionId, messageCount }) => [sessionId, messageCount])));
  for (const count of counts.values()) expect(count).toBeGreaterThanOrEqual(ANSWERS - 1);
  await reader.close();
  await database.close();
});
