import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { ExportRequest } from "../../../../src/commands/transfer/export-scope.js";
import { exportSessions } from "../../../../src/commands/transfer/export-sessions.js";
import { importSessions } from "../../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../../src/commands/with-pools.js";
import type { RootPool } from "../../../../src/pool/root-pool.js";

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
    expect(items()).toEqual([{ format: "session-pool", version: 2 }, { todos: [] }]);
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
