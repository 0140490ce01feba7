import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { SessionPool } from "../../../src/pool/session-pool.js";
import { TodoTracker } from "../../../src/pool/todo-tracker.js";
import { StorageManager } from "../../../src/storage/storage-manager.js";
import { StorageProvider } from "../../../src/storage/storage-provider.js";
import { message, messages, refusal } from "../../contract/storage-provider/fixtures.js";

class Provider extends StorageProvider {
  closed = 0;
  override async close(): Promise<void> {
    this.closed += 1;
  }
  override async sweep() {
    return { sessions: 1, ranges: 2, repairedForks: 3, orphans: 4, failed: 0 };
  }
}

describe("RootPool", () => {
  it("owns sessions, todos and the storage manager that it is given", () => {
    const storage = new StorageManager({ main: new Provider() });
    const rootPool = new RootPool({ storage });
    expect(rootPool.storage).toBe(storage);
    expect(rootPool.sessions).toBeInstanceOf(SessionPool);
    expect(rootPool.todos).toBeInstanceOf(TodoTracker);
  });

  it("wraps a provider in a storage manager", () => {
    const provider = new Provider();
    const { storage } = new RootPool({ storage: provider });
    expect(storage).toBeInstanceOf(StorageManager);
    expect(storage?.active).toBe(provider);
  });

  it("replaces the limits that are given", () => {
    const { limits } = new RootPool({ limits: { idBytes: 5 } });
    expect(limits).toEqual({ ...DEFAULT_LIMITS, idBytes: 5 });
  });

  it("sweeps and closes the storage", async () => {
    const provider = new Provider();
    const rootPool = new RootPool({ storage: provider });
    expect(await rootPool.sweep()).toEqual({ sessions: 1, ranges: 2, repairedForks: 3, orphans: 4, failed: 0 });
    await rootPool.close();
    expect(provider.closed).toBe(1);
  });
});

describe("a RootPool without storage", () => {
  const { sessions, todos, ...rootPool } = new RootPool();

  it("reads as empty", async () => {
    expect(rootPool.storage).toBeUndefined();
    expect(await sessions.getMessages("s", { limit: 3, offset: 1 })).toEqual([]);
    expect(await sessions.getMessageCount("s")).toBe(0);
    expect(await sessions.getMessage("s", "m1")).toBeNull();
    expect(await sessions.listMessages("s", { limit: 1 })).toEqual({ messages: [] });
    expect(await sessions.listSessions({ limit: 1 })).toEqual({ sessions: [] });
    expect(await todos.entries()).toEqual([]);
  });

  it("has no session", async () => {
    await refusal(sessions.getSession("s"), "not_found");
    await refusal(sessions.loadSession("s", { limit: 1 }), "not_found");
  });

  it("raises on every change", async () => {
    const todo = { id: "t", content: "", status: "", priority: "" };
    const changes = [
      sessions.appendMessage("s", message("m1")),
      sessions.appendMessages("s", messages("m1", "m2")),
      sessions.copyMessages("s", "t"),
      sessions.truncateMessages("s", "m1"),
      sessions.createSession(),
      sessions.updateSession("s", {}),
      sessions.deleteSession("s"),
      sessions.forkSession("s"),
      sessions.shareSession("s"),
      sessions.revertSession("s", "m1"),
      sessions.unrevertSession("s"),
      sessions.followMessages("s", 0),
      todos.add(todo),
      todos.replace([todo]),
      todos.update(todo, ["content"]),
      todos.remove("t"),
      new RootPool().sweep(),
    ];
    for (const change of changes) {
      expect((await refusal(change, "unimplemented")).message).toContain("without a storage manager");
    }
    expect(sessions.turnLock.size).toBe(0);
  });

  it("closes", async () => {
    await expect(new RootPool().close()).resolves.toBeUndefined();
  });
});
