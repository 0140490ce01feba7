import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { ExportRequest } from "../../../../src/commands/transfer/export-scope.js";
import { exportSessions, writeBackup } from "../../../../src/commands/transfer/export-sessions.js";
import { importSessions } from "../../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../../src/commands/with-pools.js";
import type { RootPool } from "../../../../src/pool/root-pool.js";
import type { StorageProvider } from "../../../../src/storage/storage-provider.js";

const root = mkdtempSync(join(tmpdir(), "session-pool-scope-"));
let count = 0;
let file: string;
let from: string;
let to: string;

beforeEach(() => {
  count += 1;
  file = join(root, `export-${count}.jsonl`);
  from = `sqlite:${join(root, `from-${count}.db`)}`;
  to = `sqlite:${join(root, `to-${count}.db`)}`;
});

afterAll(() => rmSync(root, { recursive: true }));

const exported = (request: Partial<ExportRequest> = {}) =>
  exportSessions({ storage: from, namespace: "default", ...request }, file);

function use<T>(storage: string, namespace: string, run: (pool: RootPool) => Promise<T>): Promise<T> {
  return withPools(storage, (pools) => run(pools.for(namespace)), { create: true });
}

const create = (namespace: string, ...sessionIds: readonly string[]) =>
  use(from, namespace, async ({ sessions }) => {
    for (const sessionId of sessionIds) {
      await sessions.createSession({ sessionId, title: `${namespace} ${sessionId}` });
      await sessions.appendMessage(sessionId, { id: "m", role: "user", parts: [] });
    }
  });

const titles = (storage: string, namespace: string) =>
  use(storage, namespace, async ({ sessions }) =>
    (await sessions.listSessions({ limit: 100 })).sessions.map(({ title }) => title).sort(),
  );

const items = () =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("an export of one namespace", () => {
  it("fails when it holds nothing but others do, names these, and writes no file", async () => {
    await create("team-a", "s");
    await create("team-b", "s");
    const names = /holds no sessions; there are some in "team-a", "team-b"\. .* --all-namespaces/;
    await expect(exported()).rejects.toThrow(names);
    await expect(exported({ namespace: "taem-a", isNamespaceGiven: true })).rejects.toThrow(names);
    expect(existsSync(file)).toBe(false);
  });

  it("fails for a namespace that has only todos unless it was named", async () => {
    await create("team-a", "s");
    await use(from, "default", (pool) => pool.todos.replace([{ id: "t", content: "x", status: "", priority: "" }]));
    await expect(exported()).rejects.toThrow("holds no sessions");
    await exported({ isNamespaceGiven: true });
    expect(items().at(-1)).toMatchObject({ todos: [{ id: "t" }] });
  });

  it("succeeds in an empty store, and where the others hold only what was deleted", async () => {
    await create("team-a", "s");
    await use(from, "team-a", ({ sessions }) => sessions.deleteSession("s"));
    await exported();
    expect(items()).toEqual([{ format: "session-pool", version: 4 }, { todos: [] }]);
  });
});

describe("an export of all namespaces", () => {
  beforeEach(async () => {
    await create("default", "s", "t");
    await create('odd "name"/\u0085', "s");
    await use(from, "todos", (pool) => pool.todos.replace([{ id: "t", content: "x", status: "", priority: "" }]));
    await exported({ allNamespaces: true });
  });

  it("is imported to the namespaces that the sessions came from, and may be repeated", async () => {
    for (let i = 0; i < 2; i++) await importSessions({ storage: to, namespace: "default" }, file);
    expect(await titles(to, "default")).toEqual(["default s", "default t"]);
    expect(await titles(to, 'odd "name"/\u0085')).toEqual(['odd "name"/\u0085 s']);
    expect(await use(to, "todos", (pool) => pool.todos.list())).toMatchObject([{ id: "t" }]);
  });

  it("gives up one namespace to an import that names it, and none to one that names another", async () => {
    await importSessions({ storage: to, namespace: 'odd "name"/\u0085', isNamespaceGiven: true }, file);
    expect(await titles(to, "default")).toEqual([]);
    expect(await titles(to, 'odd "name"/\u0085')).toHaveLength(1);
    const other = importSessions({ storage: to, namespace: "x", isNamespaceGiven: true }, file);
    await expect(other).rejects.toThrow('it holds no namespace "x", but "default", "odd');
  });

  it("is refused as a whole when a later part of it is damaged", async () => {
    writeFileSync(file, readFileSync(file, "utf8").trimEnd().split("\n").slice(0, -1).join("\n"));
    await expect(importSessions({ storage: to, namespace: "default" }, file)).rejects.toThrow("The file is not whole");
    expect(existsSync(to.slice("sqlite:".length))).toBe(false);
  });
});

describe("an export of some sessions", () => {
  beforeEach(async () => {
    await create("default", "parent", "other");
    await use(from, "default", async ({ sessions }) => {
      await sessions.forkSession("parent", { newSessionId: "fork ✓ %/" });
      await sessions.appendMessage("fork ✓ %/", { id: "own", role: "assistant", parts: [] });
      await sessions.createSession({ sessionId: "child", parentId: "fork ✓ %/" });
    });
  });

  it("holds them whole: a fork with what it inherited, a child with what its ancestors show", async () => {
    await exported({ sessions: ["child", "fork ✓ %/", "child"] });
    await importSessions({ storage: to, namespace: "default" }, file);
    await use(to, "default", async ({ sessions }) => {
      expect((await sessions.listSessions({ limit: 10 })).sessions).toHaveLength(2);
      expect(await sessions.getSession("fork ✓ %/")).toMatchObject({ parentId: "parent", inheritedCount: 1 });
      expect((await sessions.getMessages("fork ✓ %/")).map(({ id }) => id)).toEqual(["m", "own"]);
      expect((await sessions.getMessages("child", { includeAncestors: true })).map(({ id }) => id)).toEqual([
        "m",
        "own",
      ]);
    });
  });

  it("fails when there is no such session", async () => {
    const missing = exported({ sessions: ["parent", "missing"] });
    await expect(missing).rejects.toThrow('The namespace "default" has no session "missing"');
    expect(existsSync(file)).toBe(false);
  });
});

describe("an export of one owner", () => {
  beforeEach(async () => {
    await use(from, "default", async ({ sessions, todos }) => {
      await sessions.createSession({ sessionId: "ada", owner: "ada", title: "of ada" });
      await sessions.appendMessage("ada", { id: "m", role: "user", parts: [] });
      await sessions.createSession({ sessionId: "bob", owner: "bob", title: "of bob" });
      await sessions.appendMessage("bob", { id: "m", role: "user", parts: [] });
      await sessions.createSession({ sessionId: "nobody", title: "of nobody" });
      await sessions.forkSession("bob", { newSessionId: "fork", title: "of ada" });
      await sessions.updateSession("fork", { owner: "ada" });
      await todos.replace([{ id: "t", content: "x", status: "", priority: "" }]);
    });
    await use(from, "team", ({ sessions }) => sessions.createSession({ sessionId: "s", owner: "ada", title: "team" }));
  });

  it("holds only that owner's sessions, a fork of somebody else's session whole, and no todos", async () => {
    await exported({ owner: "ada", isNamespaceGiven: true });
    expect(items().at(-1)).toEqual({ todos: [] });
    await importSessions({ storage: to, namespace: "default" }, file);
    await use(to, "default", async ({ sessions }) => {
      const listed = (await sessions.listSessions({ limit: 9 })).sessions.map(({ sessionId, owner }) => [
        sessionId,
        owner,
      ]);
      expect(listed.sort()).toEqual([
        ["ada", "ada"],
        ["fork", "ada"],
      ]);
      expect((await sessions.getMessages("fork")).map(({ id }) => id)).toEqual(["m"]);
    });
  });

  it("or of none holds only the sessions without an owner", async () => {
    await exported({ owner: "", isNamespaceGiven: true });
    expect(items().map(({ session }) => session?.title)).toEqual([undefined, "of nobody", undefined]);
  });

  it("of all namespaces holds those that have sessions of that owner", async () => {
    await exported({ owner: "ada", allNamespaces: true });
    expect(items().flatMap(({ namespace = [] }) => namespace)).toEqual(["default", "team"]);
    await exported({ owner: "bob", allNamespaces: true });
    expect(items().flatMap(({ namespace = [] }) => namespace)).toEqual(["default"]);
  });

  it("fails when nobody has that name", async () => {
    const missing = exported({ owner: "carol", isNamespaceGiven: true });
    await expect(missing).rejects.toThrow('The namespace "default" holds no sessions of the owner "carol"');
    await expect(exported({ owner: "carol", allNamespaces: true })).rejects.toThrow(
      'The store holds no sessions of the owner "carol"',
    );
    await expect(exported({ owner: "", namespace: "team" })).rejects.toThrow(
      'The namespace "team" holds no sessions without an owner; there are some in "default"',
    );
    expect(existsSync(file)).toBe(false);
  });

  it("leaves out and counts a session that gets another owner meanwhile", async () => {
    await use(from, "default", async (pool) => {
      const provider = pool.storage?.active as StorageProvider;
      const snapshot = provider.snapshotSession.bind(provider);
      provider.snapshotSession = async (sessionId) => {
        if (sessionId === "fork") await provider.updateSession("fork", { owner: "bob" });
        return snapshot(sessionId);
      };
      expect(await writeBackup(pool, async () => {}, { owner: "ada" })).toEqual({ exported: 1, deleted: 1 });
    });
  });
});

describe("an import for one owner", () => {
  const owners = () =>
    use(to, "default", async ({ sessions }) =>
      (await sessions.listSessions({ limit: 9 })).sessions
        .map(({ sessionId, owner }) => `${sessionId}: ${owner}`)
        .sort(),
    );
  const message = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: id }] });
  const chat = (...ids: readonly string[]) => ({ id: "chat", messages: ids.map(message) });

  it("gives all sessions of the file that owner, and may be repeated with new messages", async () => {
    for (const ids of [["a"], ["a", "b"]]) {
      writeFileSync(file, JSON.stringify([chat(...ids)]));
      await importSessions({ storage: to, namespace: "default", owner: "ada" }, file);
    }
    expect(await owners()).toEqual(["chat: ada"]);
    expect(await use(to, "default", ({ sessions }) => sessions.getMessageCount("chat"))).toBe(2);
    await create("default", "s");
    await use(from, "default", ({ sessions }) => sessions.updateSession("s", { owner: "bob" }));
    await exported();
    await importSessions({ storage: to, namespace: "default", owner: "ada" }, file);
    expect(await owners()).toEqual(["chat: ada", "s: ada"]);
  });

  it.each([
    ["bob", 'belongs to "bob"'],
    ["", "has no owner"],
  ])("stores nothing when a session of the file exists and belongs to %j", async (owner, whose) => {
    await use(to, "default", ({ sessions }) => sessions.createSession({ sessionId: "chat", owner }));
    writeFileSync(file, JSON.stringify([{ ...chat("a"), id: "new" }, chat("a")]));
    const refused = importSessions({ storage: to, namespace: "default", owner: "ada" }, file);
    await expect(refused).rejects.toThrow(`Session "chat" exists already and ${whose}; nothing was stored`);
    expect(await owners()).toEqual([`chat: ${owner || undefined}`]);
  });
});
