import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { ChatMessage } from "../../src/domain/chat-message.js";
import { NotImplementedError } from "../../src/domain/errors.js";
import {
  type LoggedMessage,
  type LogResult,
  MemoryStorageProvider,
  RootPool,
  type SessionPool,
  StorageManager,
  StorageProvider,
} from "../../src/index.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

// One case for each sentence of docs/spec.md. The titles keep its snake_case names, which are camelCase in the code.

const say = (id: string, seconds?: number) => ({
  id,
  role: "user",
  parts: [{ id: "", type: "text", text: `text of ${id}` }],
  timestampMicros: seconds === undefined ? undefined : seconds * 1e6,
});
const idsOf = (messages: readonly { readonly id: string }[]) => messages.map(({ id }) => id);
const sourceFolder = join(import.meta.dirname, "../../src");

describe("HTTP: list session todos", () => {
  let server: TestServer;
  let grpc: GrpcClient;

  const http = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.httpUrl}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await response.text();
    return {
      status: response.status,
      allow: response.headers.get("allow"),
      body: text === "" ? null : JSON.parse(text),
    };
  };
  const replaceTodos = (todos: readonly object[]) =>
    grpc.call(TodoTrackerService, "ReplaceTodos", { todos: todos as never });

  const TODOS = [
    { id: "2", content: "second", status: "completed", priority: "low" },
    { id: "1", content: "first", status: "", priority: "" },
  ];

  beforeAll(async () => {
    server = await startTestServer();
    grpc = new GrpcClient(server.grpcAddress);
  });
  afterAll(async () => {
    grpc.close();
    await server.stop();
  });
  beforeEach(() => replaceTodos(TODOS));

  it("the response lists every entry of the global todo tracker, in the tracker's order, fields copied one to one", async () => {
    expect(await http("GET", "/s/todo")).toMatchObject({ status: 200, body: TODOS });
  });

  it("empty array when the tracker has no entries", async () => {
    await replaceTodos([]);
    expect(await http("GET", "/s/todo")).toMatchObject({ status: 200, body: [] });
  });

  it("the value of session_id does not filter the result: parent and child sessions get the same list", async () => {
    await http("POST", "/session", { sessionId: "parent" });
    await http("POST", "/session", { sessionId: "child", parentId: "parent" });
    for (const path of ["/parent/todo", "/child/todo", "/nobody/todo", "/session/child/todo"]) {
      expect(await http("GET", path)).toMatchObject({ status: 200, body: TODOS });
    }
  });

  it("no POST, PUT or DELETE todo routes exist; the only todo route is this GET", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      for (const path of ["/s/todo", "/session/s/todo"]) {
        const { status, allow } = await http(method, path, {});
        expect([method, path, status]).toEqual([method, path, 405]);
        expect(allow).not.toContain(method);
      }
    }
    expect(await http("GET", "/s/todo")).toMatchObject({ body: TODOS });
  });

  it("query parameters: none", async () => {
    expect(await http("GET", "/s/todo?status=completed")).toMatchObject({ status: 400 });
  });

  it("session creation, fork, share and delete have no effect on todos", async () => {
    const made = await http("POST", "/session", { sessionId: "life" });
    const fork = await http("POST", "/session/life/fork", { newSessionId: "life-fork" });
    const share = await http("POST", "/session/life/share", { newSessionId: "life-share" });
    expect([made.status, fork.status, share.status]).toEqual([200, 200, 200]);
    for (const id of ["life", "life-fork"]) {
      expect(await http("GET", `/${id}/todo`)).toMatchObject({ body: TODOS });
      expect(await http("DELETE", `/session/${id}`)).toMatchObject({ status: 200 });
      expect(await http("GET", `/${id}/todo`)).toMatchObject({ body: TODOS });
    }
  });

  describe("HTTP: other session routes", () => {
    beforeAll(async () => {
      await http("POST", "/session", { sessionId: "s" });
      for (const id of ["m1", "m2", "m3"]) {
        const message = { info: { id, role: "user" }, parts: [{ type: "text", text: id }] };
        expect(await http("POST", "/session/s/message", message)).toMatchObject({ status: 200 });
      }
    });

    const history = async (id: string) => {
      const { body } = await http("GET", `/session/${id}/message`);
      return idsOf(body.messages.map(({ info }: { info: { id: string } }) => info));
    };

    it("POST .../share copies all messages of the session to a new session and answers 200 on success", async () => {
      const { status, body } = await http("POST", "/session/s/share", {});
      expect(status).toBe(200);
      expect(body).toMatchObject({ forkPointId: "m3", copiedCount: "3" });
      expect(await history(body.session.sessionId)).toEqual(["m1", "m2", "m3"]);
    });

    it("session info answers the message count", async () => {
      expect((await http("GET", "/session/s")).body).toMatchObject({ messageCount: "3" });
    });

    it("load session answers its messages", async () => {
      const { body } = await http("GET", "/session/s/load?limit=2");
      expect(body.messages.map(({ info }: { info: { id: string } }) => info.id)).toEqual(["m2", "m3"]);
    });

    it("fork session copies messages up to and including a given one", async () => {
      await http("POST", "/session/s/fork", { newSessionId: "f", upToMessageId: "m2" });
      expect(await history("f")).toEqual(["m1", "m2"]);
    });

    it("revert session truncates", async () => {
      await http("POST", "/session/s/fork", { newSessionId: "r" });
      const { body } = await http("POST", "/session/r/revert", { upToMessageId: "m1" });
      expect(body).toMatchObject({ removedCount: "2" });
      expect(await history("r")).toEqual(["m1"]);
    });
  });
});

describe("RootPool.todos", () => {
  it("one global tracker on the root pool with a collection named entries, not scoped to a session", async () => {
    const rootPool = new RootPool({ storage: new MemoryStorageProvider() });
    const todo = await rootPool.todos.add({ id: "", content: "c", status: "s", priority: "p" });
    expect(await rootPool.todos.entries()).toEqual([todo]);
  });
});

describe("ServerState", () => {
  it("todos, messages and append_message() are removed: no source file names them", () => {
    const files = readdirSync(sourceFolder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      expect(readFileSync(join(sourceFolder, file), "utf8")).not.toMatch(/ServerState|append_message\(/);
    }
  });

  it("routes call SessionPool: nothing that serves them imports storage", () => {
    for (const folder of ["api", "server"]) {
      const files = readdirSync(join(sourceFolder, folder), { recursive: true, encoding: "utf8" });
      for (const file of files.filter((name) => name.endsWith(".ts"))) {
        expect(readFileSync(join(sourceFolder, folder, file), "utf8")).not.toMatch(/from ".*\/storage\//);
      }
    }
  });
});

describe("SessionPool message history operations", () => {
  let rootPool: RootPool;
  let sessions: SessionPool;

  beforeEach(async () => {
    rootPool = new RootPool({ storage: new MemoryStorageProvider() });
    ({ sessions } = rootPool);
    await sessions.createSession({ sessionId: "s" });
    for (const id of ["m1", "m2", "m3", "m4"]) await sessions.appendMessage("s", say(id));
  });

  const history = async (sessionId: string) => idsOf(await sessions.getMessages(sessionId));

  it("all are async methods", async () => {
    await sessions.createSession({ sessionId: "t" });
    const calls = [
      sessions.getMessageCount("s"),
      sessions.getMessage("s", "m1"),
      sessions.getMessages("s"),
      sessions.appendMessage("s", say("m5")),
      sessions.copyMessages("s", "t"),
      sessions.truncateMessages("s", "m1"),
    ];
    for (const call of calls) expect(call).toBeInstanceOf(Promise);
    await Promise.all(calls);
  });

  it("get_message_count: number of messages in the session, obtained without loading all messages", async () => {
    const { storage } = rootPool;
    const loaded: string[] = [];
    Object.assign(storage as StorageManager, { getSessionMessages: async (id: string) => loaded.push(id) });
    expect(await sessions.getMessageCount("s")).toBe(4);
    expect(loaded).toEqual([]);
  });

  it("get_message: null when the message is not found", async () => {
    expect(await sessions.getMessage("s", "m2")).toMatchObject({ id: "m2", sessionId: "s" });
    expect(await sessions.getMessage("s", "m9")).toBeNull();
  });

  it("get_messages: ordered by timestamp, oldest first", async () => {
    await sessions.createSession({ sessionId: "t" });
    for (const [id, seconds] of [
      ["c", 3],
      ["a", 1],
      ["b", 2],
    ] as const) {
      await sessions.appendMessage("t", say(id, seconds));
    }
    expect(await history("t")).toEqual(["a", "b", "c"]);
  });

  it("get_messages: limit absent means no limit, offset is the number of messages to skip", async () => {
    expect(await history("s")).toEqual(["m1", "m2", "m3", "m4"]);
    expect(idsOf(await sessions.getMessages("s", { limit: 2 }))).toEqual(["m3", "m4"]);
    expect(idsOf(await sessions.getMessages("s", { limit: 2, offset: 1 }))).toEqual(["m2", "m3"]);
    expect(idsOf(await sessions.getMessages("s", { offset: 3 }))).toEqual(["m4"]);
  });

  it("append_message: appends the message and returns its id, a ULID when none is given", async () => {
    expect(await sessions.appendMessage("s", say("m5"))).toBe("m5");
    const ids = [await sessions.appendMessage("s", { ...say(""), id: undefined })];
    ids.push(await sessions.appendMessage("s", { ...say(""), id: undefined }));
    for (const id of ids) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(ids.toSorted()).toEqual(ids);
    expect(await history("s")).toEqual(["m1", "m2", "m3", "m4", "m5", ...ids]);
  });

  it("turns are serialized per session by turn_lock, so two appends to the same session do not run concurrently", async () => {
    let running = 0;
    const storage = rootPool.storage as StorageManager;
    const { logTurn } = storage;
    storage.logTurn = async (...args) => {
      expect(++running).toBe(1);
      expect(sessions.turnLock.isLocked("s")).toBe(true);
      const outcomes = await logTurn.apply(storage, args);
      running -= 1;
      return outcomes;
    };
    await Promise.all(Array.from({ length: 10 }, (_, i) => sessions.appendMessage("s", say(`x${i}`))));
    expect(await sessions.getMessageCount("s")).toBe(14);
  });

  it("copy_messages: with up_to_message_id set, copies up to and including that message; returns the fork point", async () => {
    await sessions.createSession({ sessionId: "t" });
    expect(await sessions.copyMessages("s", "t", { upToMessageId: "m2" })).toBe("m2");
    expect(await history("t")).toEqual(["m1", "m2"]);
  });

  it("copy_messages: with none, copies all", async () => {
    await sessions.createSession({ sessionId: "t" });
    expect(await sessions.copyMessages("s", "t")).toBe("m4");
    expect(await history("t")).toEqual(["m1", "m2", "m3", "m4"]);
  });

  it("copy_messages: null when no message was copied", async () => {
    await sessions.createSession({ sessionId: "empty" });
    await sessions.createSession({ sessionId: "t" });
    expect(await sessions.copyMessages("empty", "t")).toBeNull();
  });

  it("truncate_messages: keeps messages up to and including up_to_message_id, removes all after it, returns the number removed", async () => {
    expect(await sessions.truncateMessages("s", "m2")).toBe(2);
    expect(await history("s")).toEqual(["m1", "m2"]);
    expect(await sessions.truncateMessages("s", "m2")).toBe(0);
  });

  it("sessions with 10,000 or more messages are handled through this pagination", async () => {
    await sessions.createSession({ sessionId: "long" });
    const ids = Array.from({ length: 10_500 }, (_, i) => `n${i}`);
    for (let i = 0; i < ids.length; i += 500) {
      await sessions.appendMessages(
        "long",
        ids.slice(i, i + 500).map((id) => say(id)),
      );
    }
    expect(await sessions.getMessageCount("long")).toBe(10_500);
    expect(idsOf(await sessions.getMessages("long", { limit: 3, offset: 10_000 }))).toEqual(ids.slice(10_000, 10_003));
    expect(idsOf(await sessions.getMessages("long", { limit: 3 }))).toEqual(ids.slice(-3));
  });

  describe("Errors", () => {
    it("KeyError, session_id does not exist: raised to the caller", async () => {
      const calls: readonly Promise<unknown>[] = [
        sessions.getMessageCount("nobody"),
        sessions.getMessage("nobody", "m1"),
        sessions.getMessages("nobody"),
        sessions.appendMessage("nobody", say("m1")),
        sessions.copyMessages("nobody", "s"),
        sessions.copyMessages("s", "nobody"),
        sessions.truncateMessages("nobody", "m1"),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: "not_found" });
    });

    it("ValueError, up_to_message_id not found: raised to the caller", async () => {
      await sessions.createSession({ sessionId: "t" });
      await expect(sessions.truncateMessages("s", "m9")).rejects.toMatchObject({ code: "invalid_argument" });
      const copy = sessions.copyMessages("s", "t", { upToMessageId: "m9" });
      await expect(copy).rejects.toMatchObject({ code: "invalid_argument" });
    });
  });
});

describe("storage layer operations", () => {
  /** Records its calls, and implements only the operations of the spec. */
  class SpecProvider extends StorageProvider {
    readonly asked: unknown[][] = [];
    #note(operation: string, args: readonly unknown[]): void {
      this.asked.push([operation, ...args.filter((arg) => arg !== undefined)]);
    }
    override async getSessionMessages(...args: unknown[]): Promise<readonly ChatMessage[]> {
      this.#note("getSessionMessages", args);
      return [];
    }
    override async logMessage(...args: [LoggedMessage, unknown?]): Promise<LogResult> {
      this.#note("logMessage", args);
      return { messageIds: [args[0].id ?? ""], position: 0 };
    }
    override async forkConversation(...args: unknown[]) {
      this.#note("forkConversation", args);
      return { forkPointId: "m7", copiedCount: 7 };
    }
    override async truncateMessages(...args: unknown[]) {
      this.#note("truncateMessages", args);
      return 3;
    }
  }

  class LackingProvider extends StorageProvider {}

  let provider: SpecProvider;
  let rootPool: RootPool;

  beforeEach(() => {
    provider = new SpecProvider();
    rootPool = new RootPool({ storage: new StorageManager({ main: provider }) });
  });

  it("SessionPool reaches storage only through RootPool.storage, a StorageManager", async () => {
    expect(rootPool.storage).toBeInstanceOf(StorageManager);
    Object.assign(rootPool.storage as StorageManager, { truncateMessages: async () => 42 });
    expect(await rootPool.sessions.truncateMessages("s", "m1")).toBe(42);
    expect(provider.asked).toEqual([]);
  });

  it("get_messages maps to get_session_messages, append_message to log_message", async () => {
    await rootPool.sessions.getMessages("s", { limit: 2 });
    expect(await rootPool.sessions.appendMessage("s", say("m1"))).toBe("m1");
    expect(provider.asked).toMatchObject([
      ["getSessionMessages", "s", { limit: 2 }],
      ["logMessage", { ...say("m1"), sessionId: "s" }],
    ]);
  });

  it("copy_messages maps to fork_conversation; the fork point is passed back up the same chain", async () => {
    expect(await rootPool.sessions.copyMessages("source", "new", { upToMessageId: "m7" })).toBe("m7");
    expect(provider.asked).toMatchObject([["forkConversation", "source", "new", { upToMessageId: "m7" }]]);
  });

  it("truncate_messages maps to truncate_messages", async () => {
    expect(await rootPool.sessions.truncateMessages("s", "m1")).toBe(3);
    expect(provider.asked).toMatchObject([["truncateMessages", "s", "m1"]]);
  });

  it("StorageManager.get_session_messages forwards session_id, include_ancestors and limit to the active provider", async () => {
    await rootPool.storage?.getSessionMessages("s", { includeAncestors: true, limit: 5 });
    expect(provider.asked).toEqual([["getSessionMessages", "s", { includeAncestors: true, limit: 5 }]]);
  });

  it("the base implementation of truncate_messages raises NotImplementedError with the class name in its text", async () => {
    const error = await new LackingProvider().truncateMessages("s", "m1").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotImplementedError);
    expect(String(error)).toMatch(/LackingProvider does not support truncating messages/);
  });

  it("NotImplementedError is raised where the provider does not support the operation", async () => {
    const { sessions } = new RootPool({ storage: new LackingProvider() });
    await expect(sessions.truncateMessages("s", "m1")).rejects.toBeInstanceOf(NotImplementedError);
    await expect(sessions.getMessages("s")).rejects.toBeInstanceOf(NotImplementedError);
  });
});

describe("fallback rule for providers without pagination", () => {
  const all = ["m1", "m2", "m3"].map((id, i): ChatMessage => ({ ...say(id), sessionId: "s", timestampMicros: i }));

  /** Makes a provider that throws this error when it is given a limit. */
  const withoutLimit = (error: Error) => {
    class OldProvider extends StorageProvider {
      override async getSessionMessages(_sessionId: string, options?: object): Promise<readonly ChatMessage[]> {
        if (options !== undefined) throw error;
        return all;
      }
    }
    return new RootPool({ storage: new OldProvider(), logger: { warn: () => {} } }).sessions;
  };

  it.each([
    ["NotImplementedError", new NotImplementedError("OldProvider", "limits")],
    ["TypeError", new TypeError("unexpected keyword argument 'limit'")],
  ])("when the call raises %s, asks without limit and keeps only the last limit messages", async (_, error) => {
    const sessions = withoutLimit(error);
    expect(idsOf(await sessions.getMessages("s", { limit: 2 }))).toEqual(["m2", "m3"]);
    expect(idsOf(await sessions.getMessages("s"))).toEqual(["m1", "m2", "m3"]);
    expect(idsOf(await sessions.getMessages("s", { limit: 1, offset: 1 }))).toEqual(["m2"]);
  });

  it("when no storage manager exists, it returns an empty list", async () => {
    expect(await new RootPool().sessions.getMessages("s", { limit: 2 })).toEqual([]);
  });

  it("existing providers that lack the new operations continue to work", async () => {
    const sessions = withoutLimit(new TypeError("no limit"));
    expect(await sessions.getMessageCount("s")).toBe(3);
    expect(await sessions.getMessage("s", "m2")).toMatchObject({ id: "m2" });
    expect((await sessions.loadSession("s", { limit: 1 })).messages).toMatchObject([{ id: "m3" }]);
  });
});
