import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, expect, it } from "vitest";
import { RootPool } from "../../src/pool/root-pool.js";
import { openStorage } from "../../src/storage/open-storage.js";
import { documentedProgram } from "../clients/documented.js";
import { ODD_TEXTS } from "../contract/log-store/fixtures.js";
import { FAMILIES } from "../fault/import-families.js";
import { Child, run } from "../support/child.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-transfer-"));
const postgres = await startPostgresServer({ fast: true });
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

/** Keeps an import from ending, however fast the machine is: the statement that adds the 300th session never ends. */
const ENDLESS_FROM_300 = `
  CREATE TRIGGER endless BEFORE INSERT ON sessions WHEN (SELECT count(*) FROM sessions) >= 299 BEGIN
    SELECT (WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n FROM numbers) SELECT max(n) FROM numbers);
  END`;

it("a process that must first create its store imports a small file completely", async () => {
  const file = join(folder, "one.jsonl");
  const session = { sessionId: "s", parentId: "", forkPointId: "", inheritedCount: 0, title: "One" };
  const message = { id: "m", role: "user", timestampMicros: 1_700_000_000_000_000, parts: [] };
  const lines = [{ format: "session-pool", version: 1 }, { session }, { message }, { todos: [] }];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

  const storage = `sqlite:${folder}/pool.db`;
  expect(await run(["import", "--storage", storage, file])).toMatchObject({ code: 0, stderr: "Imported 1 session\n" });
  const exported = join(folder, "again.jsonl");
  expect(await run(["export", "--storage", storage, exported])).toMatchObject({ code: 0 });
  const [header, sessionLine, messageLine, todosLine] = readFileSync(exported, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(header).toEqual({ format: "session-pool", version: 4 });
  expect(sessionLine).toMatchObject({ session: { sessionId: "s", title: "One", messages: [[1, 1]] } });
  expect([messageLine, todosLine]).toEqual([{ message }, { todos: [] }]);
});

it("an import takes todos over the default limits, as it takes messages", async () => {
  const file = join(folder, "todos.jsonl");
  const ids = ["x".repeat(150), ...Array.from({ length: 10_000 }, (_none, i) => `${i}`)];
  const todos = ids.map((id) => ({ id, content: "c", status: "pending", priority: "low" }));
  writeFileSync(
    file,
    [{ format: "session-pool", version: 4 }, { todos }].map((line) => JSON.stringify(line)).join("\n"),
  );
  const target = ["--storage", `sqlite:${folder}/todos.db`];
  expect(await run(["import", ...target, file])).toMatchObject({ code: 0, stderr: "Imported 0 sessions\n" });
  const { stdout } = await run(["todo", "list", ...target]);
  const lines = stdout.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(ids);
});

it("a missing file or database ends the command with one line and exit code 1, and creates nothing", async () => {
  const typo = `sqlite:${folder}/typo.db`;
  const noDatabase = `session-pool: There is no database ${folder}/typo.db\n`;
  const backup = join(folder, "backup.jsonl");
  for (const args of [["export", backup], ["sweep"], ["todo", "list"], ["todo", "add", "x"]]) {
    expect(await run([...args, "--storage", typo])).toMatchObject({ code: 1, stdout: "", stderr: noDatabase });
  }
  expect(await run(["import", "--storage", typo, backup])).toMatchObject({
    code: 1,
    stderr: `session-pool: ${backup}: there is no such file\n`,
  });
  expect(existsSync(backup)).toBe(false);
  expect(existsSync(`${folder}/typo.db`)).toBe(false);
});

it("an import that is killed is completed by the next one", async () => {
  const source = `sqlite:${folder}/source.db`;
  const lines: object[] = [{ format: "session-pool", version: 1 }];
  for (let i = 0; i < 400; i++) {
    lines.push({ session: { sessionId: `s${i}` } });
    for (let k = 0; k < 5; k++) lines.push({ message: { id: `m${k}`, role: "user", timestampMicros: k, parts: [] } });
  }
  const old = join(folder, "old.jsonl");
  writeFileSync(old, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await run(["import", "--storage", source, old]);
  const backup = join(folder, "whole.jsonl");
  await run(["export", "--storage", source, backup]);

  const target = `sqlite:${folder}/target.db`;
  const empty = join(folder, "empty.jsonl");
  writeFileSync(empty, `${JSON.stringify({ format: "session-pool", version: 1 })}\n`);
  await run(["import", "--storage", target, empty]);
  inTarget((database) => database.exec(ENDLESS_FROM_300));
  const killed = new Child(["import", "--storage", target, backup]);
  // At most 64 sessions are written at a time, so by now the first ones are complete.
  await poll(() => inTarget(countRecords) > 150, "some sessions are stored");
  killed.kill("SIGKILL");
  expect(await killed.ended()).toMatchObject({ signal: "SIGKILL" });
  expect(inTarget(countRecords)).toBeLessThan(400);
  inTarget((database) => database.exec("DROP TRIGGER endless"));

  const again = await run(["import", "--storage", target, backup]);
  expect(again).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Imported \d+ sessions, \d+ were there already\n$/),
  });
  await run(["export", "--storage", target, `${backup}.2`]);
  expect(readFileSync(`${backup}.2`, "utf8")).toBe(readFileSync(backup, "utf8"));
  expect(await run(["import", "--storage", target, backup])).toMatchObject({
    stderr: "Imported 0 sessions, 400 were there already\n",
  });
});

it("the backup that docs/ shows comes back as it was", async () => {
  const storage = `sqlite:${folder}/shown.db`;
  const [shown, file] = [documentedProgram("json", '"format":"session-pool"'), join(folder, "shown.jsonl")];
  writeFileSync(file, shown);
  expect(await run(["import", "--storage", storage, file])).toMatchObject({ code: 0, stderr: "Imported 2 sessions\n" });
  expect((await run(["export", "--storage", storage])).stdout).toBe(shown);
});

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "an import that %s ends leaves no copy of a database",
  async (name) => {
    const temporary = mkdtempSync(join(folder, "temporary-"));
    const path = join(folder, `${name}.db`);
    writeFileSync(path, "SQLite format 3\0");
    // The copy of a pipe that nobody writes to never ends.
    execFileSync("mkfifo", [`${path}-wal`]);
    const stopped = new Child(["import", "--storage", `sqlite:${folder}/stopped.db`, path], { TMPDIR: temporary });
    const files = () => readdirSync(temporary, { recursive: true }).map(String);
    await poll(() => files().some((file) => file.endsWith(`${name}.db`)), "the copy is there");
    stopped.kill(name);
    expect(await stopped.ended()).toMatchObject({ code: null, signal: name, stderr: "" });
    expect(files()).toEqual([]);
  },
);

it("an export whose reader goes away ends without a word", async () => {
  const storage = `sqlite:${folder}/unread.db`;
  const text = "x".repeat(2 * 1024 * 1024);
  const lines = [
    { format: "session-pool", version: 1 },
    { session: { sessionId: "s" } },
    { message: { id: "m", role: "user", timestampMicros: 1, parts: [{ id: "", type: "text", text }] } },
  ];
  const file = join(folder, "unread.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await run(["import", "--storage", storage, file])).toMatchObject({ code: 0 });
  const unread = new Child(["export", "--storage", storage]);
  // The rest is more than a pipe holds.
  unread.process.stdout?.once("data", () => unread.process.stdout?.destroy());
  expect(await unread.ended()).toMatchObject({ code: 1, stderr: "" });
});

function countRecords(database: Database.Database): number {
  const [count] = database.prepare("SELECT count(*) FROM sessions").raw().get([]) as [number];
  return count;
}

function inTarget<T>(work: (database: Database.Database) => T): T {
  const database = new Database(join(folder, "target.db"), { timeout: 120_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

it("an export says which namespaces it leaves out, and takes them, or single sessions, when it is told to", async () => {
  const storage = `sqlite:${folder}/namespaces.db`;
  const file = join(folder, "namespace.jsonl");
  const all = join(folder, "all.jsonl");
  const ids = ["one", "-x"];
  const lines = [{ format: "session-pool", version: 1 }, ...ids.map((sessionId) => ({ session: { sessionId } }))];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await run(["import", "--storage", storage, "--namespace", "team-a", file]);
  const none = await run(["export", "--storage", storage]);
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toContain('there are some in "team-a"');
  await run(["import", "--storage", storage, file]);
  const left = await run(["export", "--storage", storage, join(folder, "default.jsonl")]);
  expect(left).toMatchObject({ code: 0 });
  expect(left.stderr).toMatch(/^Exported 2 sessions\nOnly the namespace "default" was exported; .* "team-a"/);
  expect(await run(["export", "--storage", storage, "--all-namespaces", all])).toMatchObject({
    code: 0,
    stderr: "Exported 4 sessions from 2 namespaces\n",
  });
  const both = await run(["export", "--storage", storage, "--all-namespaces", "--namespace", "team-a"]);
  expect(both).toMatchObject({ code: 1, stdout: "" });
  const some = await run(["export", "--storage", storage, "--session", "-x", "--session", "one"]);
  expect(some).toMatchObject({ code: 0, stderr: expect.stringContaining("Exported 2 sessions\n") });
  const target = `sqlite:${folder}/namespaces-again.db`;
  expect(await run(["import", "--storage", target, all])).toMatchObject({
    code: 0,
    stderr: "Imported 4 sessions to 2 namespaces\n",
  });
});

it.skipIf(!postgres)(
  "a large export goes into PostgreSQL and comes back as it was, as often as it is moved",
  async () => {
    const source = `sqlite:${folder}/large.db`;
    await fillLarge(source);
    const [file, moved, back] = ["large", "moved", "back"].map((name) => join(folder, `${name}.jsonl`)) as [
      string,
      string,
      string,
    ];
    expect(await run(["export", "--storage", source, "--all-namespaces", file])).toMatchObject({ code: 0 });
    const to = ["--storage", freshSchemaUrl(postgres!)];
    expect(await run(["import", ...to, file])).toMatchObject({ code: 0 });
    const again = await run(["import", ...to, file]);
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Imported 0 sessions .*were there already/m),
    });
    expect(await run(["export", ...to, "--all-namespaces", moved])).toMatchObject({ code: 0 });
    expect(readFileSync(moved, "utf8") === readFileSync(file, "utf8")).toBe(true);
    const returned = ["--storage", `sqlite:${folder}/returned.db`];
    expect(await run(["import", ...returned, moved])).toMatchObject({ code: 0 });
    expect(await run(["export", ...returned, "--all-namespaces", back])).toMatchObject({ code: 0 });
    expect(readFileSync(back, "utf8") === readFileSync(file, "utf8")).toBe(true);
  },
);

/** Many sessions, odd texts, a message of some megabytes, and, each in a namespace of its own, families of sessions. */
async function fillLarge(url: string): Promise<void> {
  const storage = await openStorage(url);
  const textPart = (text: string) => ({ id: "", type: "text", text });
  const provider = storage.provider("large");
  for (let s = 0; s < 100; s++) {
    const labels = { label: ODD_TEXTS[s % ODD_TEXTS.length] as string };
    await provider.createSession({ sessionId: `s${s}`, title: ODD_TEXTS[s % ODD_TEXTS.length], labels });
    const messages = Array.from({ length: 100 }, (_, m) => ({
      id: `m${m}`,
      role: "user",
      parts: [textPart(`${ODD_TEXTS[(s + m) % ODD_TEXTS.length]} ${m}`)],
      metadata: { [ODD_TEXTS[m % ODD_TEXTS.length] as string]: s },
    }));
    await provider.logMessages(`s${s}`, messages);
  }
  await provider.logMessages("s0", [{ id: "long", role: "user", parts: [textPart("x\u0000".repeat(1_000_000))] }]);
  for (const [family, fill] of Object.entries(FAMILIES)) {
    const pool = new RootPool({ storage: storage.provider(family) });
    await fill(pool.sessions, pool);
  }
  await storage.close();
}
