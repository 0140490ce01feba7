import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import Database from "libsql";
import { expect, it } from "vitest";
import { viewsOfParts } from "../../../../../src/parts/recognise.js";
import { newTarget, outline } from "./imported.js";

/** Creates a database with write-ahead log; the caller closes it. */
function open(path: string, schema: string): InstanceType<typeof Database> {
  const database = new Database(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
  database.exec(schema);
  return database;
}

/** The names and contents of a database and of the files beside it. */
function filesOf(path: string): string[] {
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(path)))
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(`${dirname(path)}/${name}`))
          .digest("hex")}`,
    );
}

function insert(database: InstanceType<typeof Database>, table: string, row: Record<string, unknown>): void {
  const names = Object.keys(row);
  const values = Object.values(row).map((value) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : value,
  );
  const marks = names.map(() => "?").join(", ");
  database.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`).run(...values);
}

const OPENCODE = `
  CREATE TABLE session (
    id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT,
    share_url TEXT, summary_additions INTEGER, summary_deletions INTEGER, summary_files INTEGER, summary_diffs TEXT,
    revert TEXT, permission TEXT, time_created INTEGER, time_updated INTEGER, time_compacting INTEGER,
    time_archived INTEGER);
  CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
  CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
  CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER);`;

it("OpenCode's database is imported while it is open, with what only its log holds, and not changed", async () => {
  const target = newTarget();
  const path = target.pathOf("opencode.db");
  const database = open(path, OPENCODE);
  const times = { time_created: 1_750_000_000_000, time_updated: 1_750_000_900_000 };
  const session = { project_id: "p", slug: "s", directory: "/work", version: "1.2.0", ...times };
  insert(database, "session", { id: "ses_2", parent_id: "ses_1", title: "Sub", ...session });
  insert(database, "session", { id: "ses_1", title: "Main", summary_diffs: [{ file: "a" }], ...session });
  const message = (id: string, role: string, created: number) =>
    insert(database, "message", { id, session_id: "ses_1", time_created: created, data: { role, time: { created } } });
  const part = (id: string, message_id: string, data: unknown) =>
    insert(database, "part", { id, message_id, session_id: "ses_1", time_created: 1, data });
  message("msg_2", "assistant", 1_750_000_000_500);
  message("msg_1", "user", 1_750_000_000_100);
  part("prt_1", "msg_1", { type: "text", text: "List" });
  part("prt_2", "msg_2", {
    type: "tool",
    tool: "bash",
    callID: "c",
    state: { status: "completed", input: { command: "ls" }, output: "a.txt", title: "ls" },
  });
  part("prt_3", "msg_2", "{ not JSON");
  insert(database, "todo", { session_id: "ses_1", content: "Do", status: "pending", priority: "high", position: 0 });
  expect(existsSync(`${path}-wal`)).toBe(true);
  const before = filesOf(path);

  for (let i = 0; i < 2; i++) {
    const all = await target.importFile(path);
    expect(Object.keys(all).sort()).toEqual(["ses_1", "ses_2"]);
    expect(all.ses_2?.session.parentId).toBe("ses_1");
    const { session: main, messages } = all.ses_1!;
    expect(main).toMatchObject({
      title: "Main",
      createTimeMicros: times.time_created * 1000,
      updateTimeMicros: times.time_updated * 1000,
      metadata: { opencode: { directory: "/work", summary: { diffs: [{ file: "a" }] }, todos: [{ content: "Do" }] } },
    });
    expect(outline(all.ses_1!)).toEqual(["user: List", "assistant: tool"]);
    expect(messages.map(({ id }) => id)).toEqual(["msg_1", "msg_2"]);
    const [view] = viewsOfParts(messages[1]!.parts);
    expect(view).toMatchObject({ kind: "call", name: "bash", status: "done", output: { text: "a.txt" } });
    expect(target.last.leftOut).toBeGreaterThan(0);
  }
  expect(filesOf(path)).toEqual(before);
  database.close();
});

const AGENTS = `
  CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
  CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT, created_at TIMESTAMP);`;
const CREATED = "2025-07-08 09:10:11";

function agents(path: string, more = "") {
  const database = open(path, AGENTS + more);
  insert(database, "agent_sessions", { session_id: "user/1", created_at: CREATED, updated_at: "2025-07-09 00:00:00" });
  const item = (data: unknown) =>
    insert(database, "agent_messages", { session_id: "user/1", message_data: data, created_at: CREATED });
  return { database, item };
}

it("the file of the Agents SDK has the form of its adapter, and gains what comes later", async () => {
  const target = newTarget();
  const path = target.pathOf("agents.db");
  const { database, item } = agents(path);
  const output = { type: "output_text", text: "Rome: 21", annotations: [] };
  const items = [
    { role: "user", content: "Weather?" },
    { type: "function_call", call_id: "c", name: "weather", arguments: '{"city":"Rome"}', id: "fc" },
    { type: "function_call_output", call_id: "c", output: "21" },
    { type: "message", role: "assistant", id: "msg", status: "completed", content: [output] },
    { __enc__: 1, payload: "gAAAA" },
    { role: "user", content: ["plain", { text: " words" }, { type: "text" }] },
    { role: "user", content: [{ type: "text" }] },
  ];
  for (const one of items) item(one);
  item("no JSON");
  const before = filesOf(path);
  const all = await target.importFile(path);
  expect(filesOf(path)).toEqual(before);
  const { session, messages } = all["user/1"]!;
  expect(session).toMatchObject({
    createTimeMicros: Date.parse("2025-07-08T09:10:11Z") * 1000,
    updateTimeMicros: Date.parse("2025-07-09T00:00:00Z") * 1000,
  });
  expect(messages).toMatchObject([
    {
      id: "item-1",
      role: "user",
      parts: [{ type: "text", text: "Weather?" }],
      metadata: { openai: { content: "text" } },
    },
    { role: "assistant", parts: [{ type: "function_call", data: items[1] }] },
    { role: "tool", parts: [{ type: "function_call_output", data: items[2] }] },
    {
      role: "assistant",
      parts: [{ type: "text", text: "Rome: 21", data: { type: "output_text", annotations: [] } }],
      metadata: { openai: { type: "message", id: "msg", status: "completed" } },
    },
    { role: "assistant", parts: [{ type: "item", data: items[4] }], metadata: { openai_item: true } },
    {
      role: "user",
      parts: [
        { type: "item", data: items[5] },
        { type: "text", text: "plain words" },
      ],
      metadata: { openai_item: true },
    },
    { role: "user", parts: [{ type: "item", data: items[6] }], metadata: { openai_item: true } },
  ]);
  expect(target.last.leftOut).toBeGreaterThan(0);
  item({ role: "user", content: "Thanks" });
  const grown = await target.importFile(path);
  expect(outline(grown["user/1"]!).slice(-1)).toEqual(["user: Thanks"]);
  expect(grown["user/1"]!.messages).toHaveLength(items.length + 1);
  database.close();
});

it("branches of the Agents SDK become forks", async () => {
  const target = newTarget();
  const path = target.pathOf("advanced.db");
  const structure = `
    CREATE TABLE message_structure (
      id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_id INTEGER, branch_id TEXT, message_type TEXT,
      sequence_number INTEGER);`;
  const { database, item } = agents(path, structure);
  const texts = ["q1", "a1", "q2", "q2 again", "a2 again"];
  for (const [i, content] of texts.entries()) item({ role: i % 2 === 0 ? "user" : "assistant", content });
  const branch = (branch_id: string, ids: readonly number[]) => {
    for (const [i, message_id] of ids.entries())
      insert(database, "message_structure", { session_id: "user/1", message_id, branch_id, sequence_number: i + 1 });
  };
  branch("main", [1, 2, 3]);
  branch("branch_from_turn_2", [1, 2, 4, 5]);
  database.close();
  const all = await target.importFile(path);
  expect(Object.keys(all)).toHaveLength(2);
  expect(all["user/1"]!.messages.map(({ parts }) => parts[0]?.text)).toEqual(["q1", "a1", "q2"]);
  const fork = all["user/1~item-4"]!;
  expect(fork.messages.map(({ parts }) => parts[0]?.text)).toEqual(["q1", "a1", "q2 again", "a2 again"]);
  expect(fork.session).toMatchObject({ parentId: "user/1", forkPointId: "item-2" });
});

it("other databases, and those of other versions, are refused with what they lack", async () => {
  const target = newTarget();
  const path = target.pathOf("other.db");
  open(path, "CREATE TABLE notes (a)").close();
  await expect(target.importFile(path)).rejects.toThrow("a SQLite database with the tables notes");
  const old = target.pathOf("old.db");
  open(old, "CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)").close();
  await expect(target.importFile(old)).rejects.toThrow("the database of OpenCode cannot be read: no such column");
});
