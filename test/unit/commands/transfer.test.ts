import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { exportSessions } from "../../../src/commands/transfer/export-sessions.js";
import { importSessions } from "../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../src/commands/with-pools.js";
import type { RootPool } from "../../../src/pool/root-pool.js";

const root = mkdtempSync(join(tmpdir(), "session-pool-transfer-"));
let count = 0;
let file: string;
let from: string;
let to: string;

beforeEach(() => {
  count += 1;
  file = join(root, `export-${count}.json`);
  from = `sqlite:${join(root, `from-${count}.db`)}`;
  to = `sqlite:${join(root, `to-${count}.db`)}`;
});

afterAll(() => rmSync(root, { recursive: true }));

describe("export and import", () => {
  it("move sessions, messages, forks and todos to another store, and may be repeated", async () => {
    await use(from, fill);
    await exportSessions(target(from), file);
    for (let i = 0; i < 2; i++) await importSessions(target(to), file);
    expect(await use(to, contents)).toEqual(await use(from, contents));
    const second = join(root, `again-${count}.json`);
    await exportSessions(target(to), second);
    expect(linesOf(second)).toEqual(linesOf(file));
  });

  it("keep a session whose parent is not there any more, as no fork", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      await pool.sessions.deleteSession("parent");
    });
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    const { fork } = await use(to, contents);
    expect(fork).toMatchObject({ parentId: "", inheritedCount: 0 });
    expect(fork?.messages).toHaveLength(2001);
  });

  it("keep a fork whose parent was changed afterwards", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      await pool.sessions.truncateMessages("parent", "m5");
    });
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    const { fork } = await use(to, contents);
    expect(fork).toMatchObject({ parentId: "parent", inheritedCount: 0 });
    expect(fork?.messages).toHaveLength(2001);
  });

  it("leave what is there alone, and tell what could not be stored", async () => {
    await use(from, fill);
    await exportSessions(target(from), file);
    await use(to, async (pool) => {
      await pool.sessions.createSession({ sessionId: "parent", title: "Another one" });
    });
    await expect(importSessions(target(to), file)).rejects.toThrow("1 sessions were not imported");
    const { parent, fork } = await use(to, contents);
    expect(parent).toMatchObject({ title: "Another one", messages: [] });
    expect(fork?.messages).toHaveLength(2001);
  });

  it.each([
    ["nonsense", /is no JSON, nor an export of session-pool/],
    ["[1]", /is no export of session-pool, OpenCode or ChatGPT/],
    ['{"format":"session-pool","version":2}\n', /has version 2; this program reads 1/],
    ['{"format":"session-pool","version":1}\n{"session":\n', /Line 2 is not valid JSON/],
    ['{"format":"session-pool","version":1}\n{"what":1}\n', /Line 2 is neither a session, a message nor todos/],
  ])("refuse %j", async (text, message) => {
    writeFileSync(file, text);
    await expect(importSessions(target(to), file)).rejects.toThrow(message);
  });
});

describe("an OpenCode export", () => {
  it("becomes a session with its tool calls as data", async () => {
    const part = (id: string, rest: object) => ({ id, sessionID: "ses_1", messageID: "msg_1", ...rest });
    const exported = {
      info: { id: "ses_1", title: "Fix the bug", version: "1.0", time: { created: 1_700_000_000_000 } },
      messages: [
        {
          info: { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1_700_000_000_001 } },
          parts: [part("prt_1", { type: "text", text: "It crashes" })],
        },
        {
          info: {
            id: "msg_2",
            sessionID: "ses_1",
            role: "assistant",
            modelID: "m",
            time: { created: 1_600_000_000_000 },
          },
          parts: [part("prt_2", { type: "tool", tool: "bash", state: { input: { command: "ls" } } })],
        },
      ],
    };
    writeFileSync(file, JSON.stringify(exported));
    for (let i = 0; i < 2; i++) await importSessions(target(to), file);
    expect(await use(to, contents)).toMatchObject({
      ses_1: {
        title: "Fix the bug",
        metadata: { opencode: { version: "1.0" } },
        messages: [
          {
            id: "msg_1",
            role: "user",
            timestampMicros: 1_700_000_000_001_000,
            parts: [{ id: "prt_1", type: "text", text: "It crashes" }],
          },
          {
            id: "msg_2",
            role: "assistant",
            metadata: { opencode: { modelID: "m" } },
            parts: [
              { id: "prt_2", type: "tool", text: "", data: { tool: "bash", state: { input: { command: "ls" } } } },
            ],
          },
        ],
      },
    });
  });
});

describe("a ChatGPT export", () => {
  it("becomes a session a conversation, of the branch that was last seen", async () => {
    const node = (id: string, parent: string | null, children: string[], message: object | null) => ({
      id,
      parent,
      children,
      message,
    });
    const said = (id: string, role: string, parts: unknown[], create_time: number | null = 1_700_000_000.5) => ({
      id,
      author: { role, name: null },
      create_time,
      content: { content_type: "text", parts },
      recipient: "all",
      metadata: { model_slug: "gpt-x" },
    });
    const mapping = {
      root: node("root", null, ["sys"], null),
      sys: node("sys", "root", ["u1"], said("sys", "system", [""])),
      u1: node(
        "u1",
        "sys",
        ["old", "new"],
        said("u1", "user", ["Hi", { content_type: "image_asset_pointer", width: 5 }]),
      ),
      old: node("old", "u1", [], said("old", "assistant", ["First try"])),
      new: node("new", "u1", ["code"], said("new", "assistant", ["Second try"], null)),
      code: node("code", "new", [], {
        ...said("code", "tool", []),
        content: { content_type: "code", language: "py", text: "1+1" },
      }),
    };
    const conversation = {
      conversation_id: "c-1",
      title: null,
      create_time: 1_700_000_000,
      current_node: "code",
      mapping,
    };
    writeFileSync(file, JSON.stringify([conversation]));
    for (let i = 0; i < 2; i++) await importSessions(target(to), file);
    const { "c-1": session } = await use(to, contents);
    expect(session?.messages).toMatchObject([
      {
        id: "u1",
        role: "user",
        timestampMicros: 1_700_000_000_500_000,
        metadata: { chatgpt: { model: "gpt-x" } },
        parts: [
          { type: "text", text: "Hi" },
          { type: "image_asset_pointer", data: { width: 5 } },
        ],
      },
      { id: "new", role: "assistant", parts: [{ text: "Second try" }] },
      { id: "code", role: "tool", parts: [{ type: "code", text: "1+1", data: { language: "py" } }] },
    ]);
    expect(session?.messages).toHaveLength(3);
  });
});

async function fill(pool: RootPool): Promise<void> {
  const { sessions } = pool;
  await sessions.createSession({ sessionId: "parent", title: "Old", metadata: { __proto__: null, a: 1 } as never });
  for (let i = 0; i < 2000; i += 500) {
    const messages = Array.from({ length: 500 }, (_, k) => ({
      id: `m${i + k}`,
      role: "user",
      timestampMicros: 1_700_000_000_000_000 + i + k,
      parts: [{ id: "", type: "text", text: `Text ${i + k} \u0000 ✓`, data: { n: i } }],
    }));
    await sessions.appendMessages("parent", messages);
  }
  await sessions.forkSession("parent", { newSessionId: "fork", title: "New" });
  await sessions.appendMessage("fork", { id: "own", role: "assistant", parts: [] });
  await sessions.forkSession("fork", { newSessionId: "fork-of-fork", upToMessageId: "m9" });
  await sessions.createSession({ sessionId: "child", parentId: "parent" });
  await pool.todos.replace([{ id: "t", content: "x", status: "pending", priority: "high" }]);
}

async function contents(pool: RootPool) {
  const { sessions } = await pool.sessions.listSessions({ limit: 100 });
  const entries = sessions.map(async ({ sessionId, parentId, forkPointId, inheritedCount, title, metadata }) => {
    const all = await pool.sessions.getMessages(sessionId);
    const messages = all.map(({ id, role, timestampMicros, parts, metadata: data }) => ({
      id,
      role,
      timestampMicros,
      parts,
      metadata: data,
    }));
    return [sessionId, { parentId, forkPointId, inheritedCount, title, metadata, messages }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

function use<T>(storage: string, run: (pool: RootPool) => Promise<T>): Promise<T> {
  return withPools(storage, (pools) => run(pools.for("default")));
}

function target(storage: string) {
  return { storage, namespace: "default" };
}

function linesOf(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").sort();
}
