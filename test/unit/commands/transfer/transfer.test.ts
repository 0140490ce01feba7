import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { exportSessions, writeBackup } from "../../../../src/commands/transfer/export-sessions.js";
import { importSessions } from "../../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../../src/commands/with-pools.js";
import { DomainError } from "../../../../src/domain/errors.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import { RootPool } from "../../../../src/pool/root-pool.js";
import { SqliteStorageProvider } from "../../../../src/storage/sqlite/sqlite-storage-provider.js";
import type { StorageProvider } from "../../../../src/storage/storage-provider.js";

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
    expect(readFileSync(second, "utf8")).toBe(readFileSync(file, "utf8"));
  });

  it("keep a message with more parts than may be written now", async () => {
    const parts = Array.from({ length: DEFAULT_LIMITS.parts + 1 }, (_, i) => ({
      id: `p${i}`,
      type: "text",
      text: "x",
    }));
    const limits = { ...DEFAULT_LIMITS, parts: parts.length };
    const storage = await SqliteStorageProvider.open(from.slice("sqlite:".length), { limits });
    const earlier = new RootPool({ storage, limits });
    await earlier.sessions.appendMessages("s", [{ id: "m", role: "user", parts }], { createSession: true });
    await earlier.close();
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    await use(to, async ({ sessions }) => {
      expect((await sessions.getMessage("s", "m"))?.parts).toEqual(parts);
      await sessions.updateMessage("s", "m", { metadata: { a: 1 } });
      await expect(sessions.updateMessage("s", "m", { parts })).rejects.toThrow("at most 10000 are allowed");
      await sessions.forkSession("s", { newSessionId: "fork" });
      expect((await sessions.getMessage("fork", "m"))?.parts).toEqual(parts);
    });
  });

  it("keep annotations of a session and of its forks, also of reverted messages", async () => {
    await use(from, async ({ sessions }) => {
      const parts = [{ id: "", type: "text", text: "x" }];
      for (const id of ["m1", "m2"]) {
        await sessions.appendMessages("s", [{ id, role: "user", parts }], { createSession: true });
      }
      for (let i = 0; i < 3; i++) await sessions.annotations.create("s", { messageId: "m1", text: `note ${i}` });
      await sessions.annotations.create("s", { messageId: "m2", thumb: "down", author: "ada" });
      await sessions.forkSession("s", { newSessionId: "fork" });
      await sessions.annotations.create("fork", { messageId: "m1", thumb: "up" });
      await sessions.revertSession("s", "m1");
    });
    await exportSessions(target(from), file);
    for (let i = 0; i < 2; i++) await importSessions(target(to), file);
    const notes = async ({ sessions }: RootPool) => {
      await sessions.unrevertSession("s");
      return Promise.all(["s", "fork"].map((id) => sessions.annotations.list(id)));
    };
    const [restored, stored] = [await use(to, notes), await use(from, notes)];
    expect(restored).toEqual(stored);
    expect(stored.map(({ annotations }) => annotations.length)).toEqual([4, 5]);
  });

  it("keep usage and its sums, of a session and apart from them what its fork inherited", async () => {
    const usage = {
      model: "m",
      provider: "p",
      inputTokens: 10,
      cost: "0.1",
      currency: "USD",
      durationMicros: 1_500_000,
    };
    const parts = [{ id: "", type: "text", text: "x" }];
    const says = (id: string) => [{ id, role: "assistant", parts, usage }];
    await use(from, async ({ sessions }) => {
      await sessions.appendMessages("s", says("m1"), { createSession: true });
      await sessions.forkSession("s", { newSessionId: "fork" });
      await sessions.appendMessages("fork", says("m2"));
    });
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    const used = async ({ sessions }: RootPool) => ({
      messages: (await sessions.getMessages("fork")).map((message) => message.usage),
      sessions: await Promise.all(["s", "fork"].map((id) => sessions.getSession(id))),
      sums: (await sessions.sumUsage({ groupBy: "session", limit: 9 })).rows,
    });
    const [restored, stored] = [await use(to, used), await use(from, used)];
    expect(restored).toEqual(stored);
    expect(stored.messages).toEqual([usage, usage]);
    expect(stored.sessions[1]).toMatchObject({ usage: { calls: 1 }, inheritedUsage: { calls: 1 } });
    expect(stored.sums.map(({ calls }) => calls)).toEqual([1, 1]);
  });

  it("make tokens of the old store invalid in the new one", async () => {
    const { next, at } = await use(from, async (pool) => {
      await fill(pool);
      const { next } = await pool.sessions.listMessages("parent", { limit: 1 });
      const events = await pool.sessions.followMessages("parent", 0);
      for await (const { at } of events) return { next, at };
      throw new Error("No event");
    });
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    await use(to, async ({ sessions }) => {
      const refused = { code: "invalid_argument" };
      await expect(sessions.listMessages("parent", { limit: 1, cursor: next! })).rejects.toMatchObject(refused);
      await expect(sessions.followMessages("parent", at!)).rejects.toMatchObject(refused);
    });
  });

  it("keep all messages of a fork or a child whose parent is deleted", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      await pool.sessions.deleteSession("parent");
    });
    const before = await use(from, contents);
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    expect(await use(to, contents)).toEqual(before);
    expect(before.fork).toMatchObject({ parentId: "parent", inheritedCount: 2000, forkPointId: "m1999" });
    const ancestors = (pool: RootPool) => pool.sessions.getMessages("child", { includeAncestors: true });
    expect(await use(to, ancestors)).toEqual(await use(from, ancestors));
  });

  it("write messages that forks share only once, and restore the sharing", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      for (let i = 0; i < 50; i++) await pool.sessions.forkSession("parent", { newSessionId: `fork-${i}` });
    });
    await exportSessions(target(from), file);
    expect(linesOf(file).filter((line) => line.startsWith('{"message"'))).toHaveLength(2001);
    await importSessions(target(to), file);
    const second = join(root, `again-${count}.json`);
    await exportSessions(target(to), second);
    expect(readFileSync(second, "utf8")).toBe(readFileSync(file, "utf8"));
  });

  it("recognise the retry of a fork after a restore", async () => {
    await use(from, fill);
    await exportSessions(target(from), file);
    await importSessions(target(to), file);
    await use(to, async ({ sessions }) => {
      const again = await sessions.forkSession("fork", { newSessionId: "fork-of-fork", upToMessageId: "m9" });
      expect(again.session).toMatchObject({ sessionId: "fork-of-fork", inheritedCount: 10 });
      const other = sessions.forkSession("fork", { newSessionId: "fork-of-fork", upToMessageId: "m8" });
      await expect(other).rejects.toMatchObject({ code: "already_exists" });
    });
  });

  it("leave alone a session whose id already exists, and give its forks messages of their own", async () => {
    await use(from, fill);
    await exportSessions(target(from), file);
    await use(to, async (pool) => {
      await pool.sessions.createSession({ sessionId: "parent", title: "Another one" });
    });
    await importSessions(target(to), file);
    const { parent, fork, "fork-of-fork": forkOfFork } = await use(to, contents);
    expect(parent).toMatchObject({ title: "Another one", messages: [] });
    expect(fork?.messages).toHaveLength(2001);
    expect(forkOfFork?.messages).toHaveLength(10);
  });

  it("make a fork of a fork from a file of version 0.1.0, and keep a fork whose parent has changed", async () => {
    const message = (id: string, at: number) => ({ message: { id, role: "user", timestampMicros: at, parts: [] } });
    const session = (sessionId: string, given: object) => ({
      session: { sessionId, parentId: "", forkPointId: "", inheritedCount: 0, title: "", ...given },
    });
    const lines = [
      { format: "session-pool", version: 1 },
      session("p", { title: "P" }),
      ...[message("a", 1), message("b", 2)],
      session("f", { parentId: "p", forkPointId: "b", inheritedCount: 2 }),
      ...[message("a", 1), message("b", 2), message("c", 3)],
      session("g", { parentId: "f", forkPointId: "c", inheritedCount: 3 }),
      ...[message("a", 1), message("b", 2), message("c", 3)],
      session("other", { parentId: "p", forkPointId: "x", inheritedCount: 1 }),
      message("x", 1),
      session("child", { parentId: "f" }),
      { todos: [{ id: "t", content: "c", status: "", priority: "" }] },
    ];
    // At first, an import is killed when it has stored the first session.
    for (const some of [lines.slice(0, 4), lines, lines]) {
      writeLines(file, some);
      await importSessions(target(to), file);
    }
    const all = await use(to, contents);
    const idsOf = (id: string) => all[id]?.messages.map((one) => one.id).join("");
    expect(["p", "f", "g", "other", "child"].map(idsOf)).toEqual(["ab", "abc", "abc", "x", ""]);
    expect(all.f).toMatchObject({ parentId: "p", forkPointId: "b", inheritedCount: 2 });
    const exported = join(root, `again-${count}.json`);
    await exportSessions(target(to), exported);
    expect(linesOf(exported).filter((line) => line.startsWith('{"message"'))).toHaveLength(4);
    expect(await use(to, (pool) => pool.sessions.getMessages("child", { includeAncestors: true }))).toHaveLength(3);
  });
});

describe("an export of a store that is in use", () => {
  it("misses no session that changes meanwhile, and skips and counts deleted ones", async () => {
    const provider = await SqliteStorageProvider.open(from.slice("sqlite:".length), { touchDelayMs: 1 });
    const ids = Array.from({ length: 1500 }, (_, i) => `s${i}`);
    await Promise.all(ids.map((sessionId) => provider.createSession({ sessionId })));
    let isOver = false;
    const append = async () => {
      for (let n = 0; !isOver; n++) {
        await provider.logMessages(`s${(n * 7) % 400}`, [{ id: `m${n}`, role: "user", parts: [] }]);
      }
      return "appended";
    };
    const appending = append();
    const deleting = Promise.all(["s1400", "s1450", "s1499"].map((id) => provider.deleteSession(id)));
    const report = await use(from, async (pool) => {
      const lines: string[] = [];
      const result = await writeBackup(pool, async (data) => {
        lines.push(data.toString());
      });
      await deleting;
      return { ...result, lines: lines.join("").split("\n") };
    });
    isOver = true;
    expect(await appending).toBe("appended");
    await provider.close();
    const sessions = report.lines.filter((line) => line.startsWith('{"session"'));
    const found = new Set(sessions.map((line) => JSON.parse(line).session.sessionId));
    const deleted = ["s1400", "s1450", "s1499"];
    expect(ids.filter((id) => !found.has(id) && !deleted.includes(id))).toEqual([]);
    expect(report.exported).toBe(sessions.length);
    writeFileSync(file, report.lines.join("\n"));
    await importSessions(target(to), file);
    expect(Object.keys(await use(to, contents))).toHaveLength(Math.min(100, sessions.length));
  });

  it("counts a session that is deleted after it was listed and before it is read", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      const provider = pool.storage?.active as StorageProvider;
      const snapshot = provider.snapshotSession.bind(provider);
      provider.snapshotSession = async (sessionId) => {
        if (sessionId === "fork") await provider.deleteSession("fork");
        return snapshot(sessionId);
      };
      expect(await writeBackup(pool, async () => {})).toEqual({ exported: 3, deleted: 1 });
    });
  });

  it("reads a session again from the start when its messages are swept meanwhile", async () => {
    await use(from, async (pool) => {
      await fill(pool);
      const provider = pool.storage?.active as StorageProvider;
      const read = provider.readStored.bind(provider);
      let reads = 0;
      provider.readStored = async (...args) => {
        reads += 1;
        if (reads === 2) throw new DomainError("aborted", "Changed");
        return read(...args);
      };
      let text = "";
      const report = await writeBackup(pool, async (data) => {
        text += data.toString();
      });
      expect(report).toEqual({ exported: 4, deleted: 0 });
      writeFileSync(file, text);
    });
    await importSessions(target(to), file);
    expect(await use(to, contents)).toEqual(await use(from, contents));
  });

  it("keeps the existing backup when it fails", async () => {
    writeFileSync(file, "the last backup");
    await expect(exportSessions(target(`sqlite:${join(root, "typo.db")}`), file)).rejects.toThrow(
      "There is no database",
    );
    await use(from, fill);
    const damaged = new Database(from.slice("sqlite:".length));
    damaged.exec("DELETE FROM messages WHERE id = 'm1000'");
    damaged.close();
    await expect(exportSessions(target(from), file)).rejects.toThrow(/"parent" has changed while it was read/);
    expect(readFileSync(file, "utf8")).toBe("the last backup");
    expect(readdirSync(root).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });
});

describe("an OpenCode export", () => {
  it("may begin with a byte order mark", async () => {
    writeFileSync(file, `\ufeff${JSON.stringify({ info: { id: "ses_1", title: "Marked" }, messages: [] }, null, 2)}`);
    await importSessions(target(to), file);
    expect(await use(to, ({ sessions }) => sessions.getSession("ses_1"))).toMatchObject({ title: "Marked" });
  });

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
  it("becomes one session per conversation, with the branch that was last shown", async () => {
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
          { type: "file", data: { content_type: "image_asset_pointer", width: 5 } },
        ],
      },
      { id: "new", role: "assistant", parts: [{ text: "Second try" }] },
      { id: "code", role: "tool", parts: [{ type: "text", text: "1+1", data: { language: "py" } }] },
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
  const labels = Object.fromEntries([
    ["user", "ada"],
    ["__proto__", "\u0000="],
  ]);
  const owner = "ada \u{1F600}";
  await sessions.createSession({ sessionId: "child", parentId: "parent", labels, owner, expireTimeMicros: 2 ** 52 });
  await pool.todos.replace([{ id: "t", content: "x", status: "pending", priority: "high" }]);
}

async function contents(pool: RootPool) {
  const { sessions } = await pool.sessions.listSessions({ limit: 100 });
  const entries = sessions.map(
    async ({ sessionId, parentId, forkPointId, inheritedCount, title, metadata, labels, owner, expireTimeMicros }) => {
      const all = await pool.sessions.getMessages(sessionId);
      const messages = all.map(({ id, role, timestampMicros, parts, metadata: data }) => ({
        id,
        role,
        timestampMicros,
        parts,
        metadata: data,
      }));
      const names = { parentId, forkPointId, inheritedCount, title };
      return [sessionId, { ...names, metadata, labels, owner, expireTimeMicros, messages }] as const;
    },
  );
  return Object.fromEntries(await Promise.all(entries));
}

function use<T>(storage: string, run: (pool: RootPool) => Promise<T>): Promise<T> {
  return withPools(storage, (pools) => run(pools.for("default")), { create: true });
}

function target(storage: string) {
  return { storage, namespace: "default" };
}

function linesOf(path: string): string[] {
  return readFileSync(path, "utf8").split("\n");
}

function writeLines(path: string, lines: readonly object[]): void {
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
