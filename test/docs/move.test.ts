import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { Child, run, type Served } from "../support/child.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { PageCommands } from "../support/page-commands.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { callRest, storeAnswers } from "../support/store-answers.js";
import { describeWith, NotHere } from "../support/toolchain.js";

/** What the page writes where a test has its own database. */
const EXAMPLE_URL = "postgres://app:password@db1/session_pool";

/** Sessions that were last changed in 2025. A file gives them their times. */
const OLD_SESSIONS = [
  { format: "session-pool", version: 4 },
  session("trip", { messages: [[1, 2]], undo: [[1, 3]], labels: { topic: "travel" }, revision: 2 }),
  ...[1, 2, 3].map((n) => message(`m${n}`, n)),
  session("fork", {
    ...{ parentId: "trip", forkPointId: "m2", inheritedCount: 2 },
    ...{ origin: { kind: "fork", sourceSessionId: "trip", upToMessageId: "m2", sourceLives: true } },
    messages: [
      [1, 2],
      [4, 4],
    ],
  }),
  message("f1", 4),
  session("child", { parentId: "trip", ancestry: [{ sessionId: "trip", messages: [[1, 2]] }], messages: [[5, 5]] }),
  message("c1", 5),
  session("quiet", { metadata: { "a.b": [1, null], $set: "x" }, messages: [[6, 6]] }),
  message("q1", 6),
  session("quiet-fork", {
    ...{ parentId: "quiet", forkPointId: "q1", inheritedCount: 1, messages: [[6, 6]] },
    ...{ origin: { kind: "fork", sourceSessionId: "quiet", upToMessageId: "q1", sourceLives: true } },
  }),
  session("doomed", { messages: [] }),
  { todos: [{ id: "t1", content: "pack", status: "pending", priority: "high" }] },
];

function session(sessionId: string, more: object): object {
  const times = { createTimeMicros: 1_750_000_000_000_000, updateTimeMicros: 1_750_000_100_000_000 };
  return { session: { sessionId, title: `The ${sessionId}`, ...times, revision: 1, ...more } };
}

function message(id: string, second: number): object {
  const timestampMicros = 1_750_000_000_000_000 + second * 1_000_000;
  return { message: { id, role: "user", timestampMicros, parts: [{ id: "p", type: "text", text: `Text of ${id}` }] } };
}

/** A server with a place of its own for each test. */
interface Target {
  freshUrl(): string;
  stop(): Promise<void>;
}

async function findPostgres(): Promise<Target> {
  const server = await startPostgresServer({ fast: true });
  if (server === null) throw new NotHere("no PostgreSQL");
  return { freshUrl: () => freshSchemaUrl(server), stop: () => server.stop() };
}

async function findMongo(): Promise<Target> {
  const server = await startMongoServer();
  if (server === null) throw new NotHere("no server that speaks MongoDB's protocol");
  return { freshUrl: () => freshDatabaseUrl(server), stop: () => server.stop() };
}

const NAME = "the page on moving to another store";
await describeWith(`${NAME}, to PostgreSQL`, () => onLinux(findPostgres), describeMove);
await describeWith(`${NAME}, to MongoDB`, () => onLinux(findMongo), describeMove);

async function onLinux(find: () => Promise<Target>): Promise<Target> {
  if (process.platform !== "linux") throw new NotHere("the page's commands need GNU's sed, date and xargs");
  return find();
}

function describeMove(target: Target): void {
  let folder: string;
  let page: PageCommands;
  let key: string;
  let old: Served;
  const say = (url: string, sessionId: string, id: string) =>
    callRest(url, key, "POST", `/session/${sessionId}/message`, { info: { id, role: "user" }, parts: [] });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-move-"));
    page = await PageCommands.in(folder, "docs/operations/move.md", [[EXAMPLE_URL, target.freshUrl()]]);
    await page.run("1. Name the new store");
    const storage = `sqlite:${folder}/data/session-pool.db`;
    const file = join(folder, "old-sessions.jsonl");
    await writeFile(file, OLD_SESSIONS.map((line) => `${JSON.stringify(line)}\n`).join(""));
    expect(await run(["import", "--storage", storage, file])).toMatchObject({ code: 0 });
    const keysFile = join(folder, "keys.json");
    const added = await run(["keys", "add", "writer", "--keys-file", keysFile]);
    key = added.stdout.trim();
    old = await Child.serve("--storage", storage, "--keys-file", keysFile);
  });

  afterEach(async () => {
    old.child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  });

  afterAll(() => target.stop());

  async function stopOld(): Promise<void> {
    old.child.kill("SIGTERM");
    expect(await old.child.ended()).toMatchObject({ code: 0 });
  }

  it("moves everything when the writers have stopped, and lets readers read meanwhile", async () => {
    const start = { message: { info: { id: "d1", role: "assistant" } } };
    expect(await callRest(old.httpUrl, key, "POST", "/session/trip/draft", start)).toMatchObject({ version: "1" });
    const text = { version: "1", deltas: [{ appendText: { text: "half an answer" } }] };
    await callRest(old.httpUrl, key, "POST", "/session/trip/draft/d1:extend", text);

    const other = ["import", "--namespace", "team-a", "--storage", `sqlite:${folder}/data/session-pool.db`];
    expect(await run([...other, join(folder, "old-sessions.jsonl")])).toMatchObject({ code: 0 });

    await page.run("2. Stop the writers");
    await poll(async () => {
      const answer = await say(old.httpUrl, "quiet-fork", "late");
      return answer.code === 7;
    }, "changes are refused");
    expect(await callRest(old.httpUrl, key, "GET", "/session/trip")).toMatchObject({ title: "The trip" });
    await stopOld();

    const ending = await page.serve("2. Stop the writers", 1);
    await poll(async () => (await ids(ending.url, "trip")).includes("d1"), "the draft is a message");
    const before = await storeAnswers(ending.url);
    await ending.stop();

    expect(await page.run("3. Export and import")).toContain("Imported 12 sessions to 2 namespaces\n");
    await page.run("4. Compare");
    await page.run("5. Start the server on the new store");
    const moved = await page.serve("5. Start the server on the new store", 1);
    try {
      expect(await storeAnswers(moved.url, key)).toEqual(before);
      expect(await callRest(moved.url, key, "POST", "/session/trip/fork", { newSessionId: "new" })).toMatchObject({
        session: { parentId: "trip" },
      });
      expect(await say(moved.url, "quiet", "after")).toMatchObject({ messageId: "after", position: "1" });
    } finally {
      await moved.stop();
    }
  });

  it("copies while the service runs, and then what has changed since", async () => {
    const section = "A shorter stop";
    expect(await page.run(section)).toContain("Imported 6 sessions\n");
    await say(old.httpUrl, "trip", "m4");
    await callRest(old.httpUrl, key, "POST", "/session/trip/fork", { newSessionId: "late-fork" });
    await callRest(old.httpUrl, key, "POST", "/session", { sessionId: "late", title: "Late" });
    await callRest(old.httpUrl, key, "DELETE", "/session/doomed");
    const before = await storeAnswers(old.httpUrl, key);
    await stopOld();

    // Only what has changed is deleted and imported again: `trip`, and `doomed`, which is gone.
    const output = await page.run(section, 1);
    expect([...output.matchAll(/^Deleted (.*)$/gm)].map(([, id]) => id).sort()).toEqual(['"doomed"', '"trip"']);
    expect(output).toContain("Imported 3 sessions, 4 were there already\n");
    await page.run(section, 2);
    const moved = await page.serve("5. Start the server on the new store", 1);
    try {
      expect(await storeAnswers(moved.url, key)).toEqual(before);
      const again = { newSessionId: "fork", upToMessageId: "m2" };
      expect(await callRest(moved.url, key, "POST", "/session/trip/fork", again)).toMatchObject({ code: 6 });
      const quiet = { newSessionId: "quiet-fork", upToMessageId: "q1" };
      expect(await callRest(moved.url, key, "POST", "/session/quiet/fork", quiet)).toMatchObject({
        session: { sessionId: "quiet-fork" },
      });
    } finally {
      await moved.stop();
    }
  });

  async function ids(url: string, sessionId: string): Promise<readonly string[]> {
    const { messages } = (await callRest(url, undefined, "GET", `/session/${sessionId}/message`)) as {
      messages: readonly { info: { id: string } }[];
    };
    return messages.map(({ info }) => info.id);
  }
}
