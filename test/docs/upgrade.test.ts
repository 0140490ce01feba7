import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { BSON, MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { FILE_HEADER } from "../../src/commands/transfer/session-file.js";
import { SCHEMA_VERSION as MONGO_SCHEMA } from "../../src/storage/mongodb/mongo-schema.js";
import { SCHEMA_VERSION as POSTGRES_SCHEMA } from "../../src/storage/postgres/schema.js";
import { SCHEMA_VERSION as SQLITE_SCHEMA } from "../../src/storage/sqlite/schema.js";
import { VERSION } from "../../src/version.js";
import { Child, run } from "../support/child.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { PageCommands } from "../support/page-commands.js";
import { freshSchemaUrl, query, startPostgresServer } from "../support/postgres-server.js";
import { callRest, storeAnswers } from "../support/store-answers.js";
import { ROOT } from "../support/toolchain.js";

const PAGE = "docs/operations/upgrade.md";
const page = readFileSync(join(ROOT, PAGE), "utf8");

/**
 * Stores that the program of version 0.1.0 has made, with forks of forks, a share, a child, an older message, a revert,
 * a truncation and a deleted source, and what that program then answered about each session.
 */
const released = (file: string) => readFileSync(join(ROOT, "test/support/stores-0.1.0", file), "utf8");
const linesOf = (file: string) =>
  released(file)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

it("the page knows the schemas of this version", () => {
  const [, table = ""] = page.split("| version |");
  const rows = table.split("\n\n")[0]?.split("\n");
  expect(rows?.at(-1)).toMatch(
    new RegExp(
      `^\\| (next|${VERSION}) \\| ${SQLITE_SCHEMA} \\| ${POSTGRES_SCHEMA} \\| ${MONGO_SCHEMA} \\| ${FILE_HEADER.version} \\|$`,
    ),
  );
});

describe("a SQLite file of version 0.1.0", () => {
  let folder: string;
  let path: string;
  let commands: PageCommands;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-upgrade-"));
    await mkdir(join(folder, "data"));
    path = join(folder, "data/session-pool.db");
    const db = new Database(path);
    db.exec(released("sqlite.sql"));
    db.close();
    commands = await PageCommands.in(folder, PAGE);
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("is upgraded by the page's steps, and the way back has everything from before", async () => {
    await commands.run("One server");
    expect(await commands.run("One server", 1)).toMatch(new RegExp(`^${VERSION}\n`));
    expect(schemaOf(path)).toBe(SQLITE_SCHEMA);
    const server = await commands.serve("One server", 2);
    expectAnswers(await storeAnswers(server.url), "sqlite.answers.jsonl");
    await callRest(server.url, undefined, "POST", "/session", { sessionId: "new", title: "Since the upgrade" });
    expect(await callRest(server.url, undefined, "POST", "/session/trip/unrevert", {})).toMatchObject({
      restoredCount: "1",
    });
    await server.stop();

    expect(await commands.run("Go back")).toBe("Exported 8 sessions from 1 namespace\n");
    expect(schemaOf(path)).toBe(1);
    await commands.run("One server", 1);
    const again = await commands.serve("One server", 2);
    expectAnswers(await storeAnswers(again.url), "sqlite.answers.jsonl");
    await again.stop();
    const storage = `sqlite:${path}`;
    expect(await run(["import", "--storage", storage, join(folder, "since-the-upgrade.jsonl")])).toMatchObject({
      stderr: "Imported 1 session, 7 were there already\n",
    });
  });

  it("is refused once a newer version has used it, with the text of the page, and stays as it is", async () => {
    setSchema(path, SQLITE_SCHEMA + 1);
    const { code, stderr } = await run(["sessions", "list", "--storage", `sqlite:${path}`]);
    expect(code).toBe(1);
    expect(page).toContain(stderr.trim().replace(path, "…"));
    expect(schemaOf(path)).toBe(SQLITE_SCHEMA + 1);
  });
});

const mongo = await startMongoServer();
afterAll(() => mongo?.stop());

describe.skipIf(mongo === null)("a MongoDB database", () => {
  let url: string;
  let client: MongoClient;
  const running: Child[] = [];

  beforeEach(async () => {
    url = freshDatabaseUrl(mongo!);
    client = await MongoClient.connect(url);
  });
  afterEach(async () => {
    for (const child of running.splice(0)) child.kill("SIGKILL");
    await client.close();
  });

  async function serve(): Promise<{ child: Child; httpUrl: string }> {
    const served = await Child.serve("--storage", url);
    running.push(served.child);
    return served;
  }

  it("of version 0.1.0 is read as it is, and changed sessions are written in the new form", async () => {
    for (const line of released("mongodb.ejson").trim().split("\n")) {
      const { collection, document } = BSON.EJSON.parse(line, { relaxed: false });
      await client.db().collection(collection).insertOne(document);
    }
    const { httpUrl } = await serve();
    expectAnswers(await storeAnswers(httpUrl), "mongodb.answers.jsonl");
    expect(await callRest(httpUrl, undefined, "POST", "/session/trip/unrevert", {})).toMatchObject({
      restoredCount: "1",
    });
    const sessions = client.db().collection("sessions");
    expect(await sessions.findOne({ session_id: "trip" })).not.toHaveProperty("side_log");
    expect(await sessions.findOne({ session_id: "shared" })).toHaveProperty("side_log");
    const schema = client.db().collection<{ _id: string; version: number }>("schema");
    expect(await schema.findOne({ _id: "version" })).toMatchObject({ version: MONGO_SCHEMA });
  });

  it("is refused once a newer version has used it, with the text of the page", async () => {
    const schema = client.db().collection<{ _id: string; version: number }>("schema");
    await schema.insertOne({ _id: "version", version: MONGO_SCHEMA + 1 });
    const { code, stderr } = await run(["sessions", "list", "--storage", url]);
    expect(code).toBe(1);
    const [, text = ""] = /^session-pool: (.*)$/m.exec(stderr) ?? [];
    expect(page).toContain(text.replace(/"[^"]+"/, "…"));
  });

  it("is served without a pause while one process after the other is replaced", async () => {
    const servers = [await serve(), await serve()];
    await callRest(servers[0]!.httpUrl, undefined, "POST", "/session", { sessionId: "s" });
    let isOver = false;
    const stored: string[] = [];
    const writing = (async () => {
      for (let i = 0; !isOver; i++) stored.push(await append(`m${i}`));
    })();
    for (const index of [0, 1]) {
      const { child } = servers[index]!;
      child.kill("SIGTERM");
      expect(await child.ended()).toMatchObject({ code: 0 });
      servers[index] = await serve();
    }
    isOver = true;
    await writing;
    const { messages } = await storeAnswers(servers[0]!.httpUrl);
    const ids = (messages as Record<string, { info: { id: string } }[]>).s!.map(({ info }) => info.id);
    expect(ids).toEqual(stored);

    /** Goes from one server to the other until a call succeeds, as a client does that is refused. */
    async function append(id: string): Promise<string> {
      for (let i = 0; ; i++) {
        const { httpUrl } = servers[i % 2]!;
        const body = { info: { id, role: "user" }, parts: [] };
        const answer = await callRest(httpUrl, undefined, "POST", "/session/s/message", body).catch(() => null);
        if (answer?.messageId === id) return id;
        // 14 is `unavailable`; no answer comes from a server that has ended.
        if (answer !== null) expect(answer).toMatchObject({ code: 14 });
      }
    }
  });
});

const postgres = await startPostgresServer({ fast: true });
afterAll(() => postgres?.stop());

it.skipIf(postgres === null)(
  "a PostgreSQL schema that a newer version has used is refused, as the page says",
  async () => {
    const url = freshSchemaUrl(postgres!);
    const { child } = await Child.serve("--storage", url);
    child.kill("SIGTERM");
    await child.ended();
    const schema = new URL(url).searchParams.get("schema");
    await query(postgres!.url, `UPDATE ${schema}.meta SET version = ${POSTGRES_SCHEMA + 1}`);
    const { code, stderr } = await run(["sessions", "list", "--storage", url]);
    expect(code).toBe(1);
    const [, text = ""] = /^session-pool: (.*)$/m.exec(stderr) ?? [];
    expect(page).toContain(text.replace(/"[^"]+"/, "…"));
  },
);

/** Whatever 0.1.0 answered is answered now, with fields that are new since. */
function expectAnswers(answers: Awaited<ReturnType<typeof storeAnswers>>, file: string): void {
  const before = linesOf(file);
  expect(answers.sessions).toMatchObject(before.map(({ session }) => session));
  expect(answers.messages).toMatchObject(
    Object.fromEntries(before.map(({ sessionId, messages }) => [sessionId, messages])),
  );
  expect(answers.todos).toMatchObject([{ content: "pack", priority: "high" }]);
}

function schemaOf(path: string): number {
  const db = new Database(path);
  const [version] = db.prepare("PRAGMA user_version").raw().get([]) as [number];
  db.close();
  return version;
}

function setSchema(path: string, version: number): void {
  const db = new Database(path);
  db.exec(`PRAGMA user_version = ${version}`);
  db.close();
}
