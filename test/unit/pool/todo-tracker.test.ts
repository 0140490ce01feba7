import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Limits } from "../../../src/domain/limits.js";
import type { Todo } from "../../../src/domain/todo.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { TodoTracker } from "../../../src/pool/todo-tracker.js";
import { StorageProvider } from "../../../src/storage/storage-provider.js";
import { type NaiveState, naiveState } from "../../contract/model/naive-sessions-provider.js";
import { NaiveStorageProvider } from "../../contract/model/naive-storage-provider.js";
import { refusal } from "../../contract/storage-provider/fixtures.js";

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

let state: NaiveState;
let todos: TodoTracker;

function todo(id: string, given: Partial<Todo> = {}): Todo {
  return { id, content: `content of ${id}`, status: "pending", priority: "high", ...given };
}

function tracker(limits: Partial<Limits> = {}): TodoTracker {
  return new RootPool({ storage: new NaiveStorageProvider(state), limits }).todos;
}

const ids = async () => (await todos.entries()).map(({ id }) => id);

beforeEach(() => {
  state = naiveState();
  todos = tracker();
});

describe("TodoTracker", () => {
  it("is empty at first", async () => {
    expect(await todos.entries()).toEqual([]);
    expect(await todos.list()).toEqual([]);
  });

  it("replaces the list, gives ids to those without, and keeps the order", async () => {
    const list = await todos.replace([todo("b"), todo(""), todo("a")]);
    expect(list.map(({ id }) => id)).toEqual(["b", expect.stringMatching(ULID), "a"]);
    expect(await todos.entries()).toEqual(list);
    expect(await tracker().entries()).toEqual(list);
    expect(await todos.replace([])).toEqual([]);
  });

  it("adds at the end, with a ULID when the id is empty", async () => {
    expect(await todos.add(todo("a"))).toEqual(todo("a"));
    const { id } = await todos.add(todo(""));
    expect(id).toMatch(ULID);
    expect(await ids()).toEqual(["a", id]);
    expect((await refusal(todos.add(todo("a")), "already_exists")).message).toContain("a");
  });

  it("updates the fields that are named and no others, in place", async () => {
    await todos.replace([todo("a"), todo("b")]);
    const changed = await todos.update(todo("a", { content: "new", status: "", priority: "low" }), [
      "content",
      "status",
    ]);
    expect(changed).toEqual(todo("a", { content: "new", status: "" }));
    expect(await todos.entries()).toEqual([changed, todo("b")]);
    await refusal(todos.update(todo("c"), ["content"]), "not_found");
  });

  it("removes a todo", async () => {
    await todos.replace([todo("a"), todo("b"), todo("c")]);
    await todos.remove("b");
    expect(await ids()).toEqual(["a", "c"]);
    await refusal(todos.remove("b"), "not_found");
  });

  it.each([
    ["one id twice", () => todos.replace([todo("a"), todo("a")])],
    ["a malformed id", () => todos.add(todo("a\n"))],
    ["a lone surrogate", () => todos.add(todo("a", { content: "\ud800" }))],
    ["no id to update", () => todos.update(todo(""), ["content"])],
    ["a field that is not a string", () => todos.add(todo("a", { status: 1 as never }))],
  ])("refuses %s, and changes nothing", async (_, change) => {
    await todos.replace([todo("x")]);
    await refusal(change(), "invalid_argument");
    expect(await ids()).toEqual(["x"]);
  });

  it("enforces the limit of the number of todos", async () => {
    todos = tracker({ todoCount: 2 });
    await todos.replace([todo("a"), todo("b")]);
    expect((await refusal(todos.add(todo("c")), "invalid_argument")).message).toContain("at most 2");
    await refusal(todos.replace([todo("a"), todo("b"), todo("c")]), "invalid_argument");
    expect(await ids()).toEqual(["a", "b"]);
  });

  it("lets a list that is over lowered limits shrink and change, but not grow", async () => {
    await todos.replace([todo("a"), todo("b"), todo("c", { content: "x".repeat(200) })]);
    todos = tracker({ todoCount: 1, todoBytes: 100 });
    await refusal(todos.add(todo("d")), "invalid_argument");
    await refusal(todos.update(todo("c", { content: "y".repeat(201) }), ["content"]), "invalid_argument");
    await todos.update(todo("c", { content: "y".repeat(199) }), ["content"]);
    await todos.remove("a");
    expect(await ids()).toEqual(["b", "c"]);
  });

  it("enforces the limit of the total size", async () => {
    todos = tracker({ todoBytes: 300 });
    await todos.add(todo("a", { content: "x".repeat(200) }));
    expect((await refusal(todos.add(todo("b", { content: "x".repeat(100) })), "invalid_argument")).message).toContain(
      "300",
    );
    await refusal(todos.update(todo("a", { status: "x".repeat(100) }), ["status"]), "invalid_argument");
    await todos.add(todo("b", { content: "x" }));
    expect(await ids()).toEqual(["a", "b"]);
  });

  it("loses no change when several processes make many at once", async () => {
    const other = tracker();
    const added = Array.from({ length: 20 }, (_, i) => `t${i}`);
    await Promise.all(added.map((id, i) => (i % 2 ? todos : other).add(todo(id))));
    expect((await ids()).toSorted()).toEqual(added.toSorted());
  });

  it("tries again when another process has changed the list, until the call ends", async () => {
    const provider = new NaiveStorageProvider(state);
    let refusals = 3;
    provider.replaceTodos = async (list, revision) =>
      --refusals >= 0 ? false : await NaiveStorageProvider.prototype.replaceTodos.call(provider, list, revision);
    todos = new RootPool({ storage: provider }).todos;
    await todos.add(todo("a"));
    expect([await ids(), refusals]).toEqual([["a"], -1]);
    refusals = Number.POSITIVE_INFINITY;
    await refusal(todos.add(todo("b"), { deadlineMs: Date.now() + 20 }), "deadline_exceeded");
    expect(await ids()).toEqual(["a"]);
  });

  it("asks a provider that does not say whether it has replaced the list no second time", async () => {
    const provider = new NaiveStorageProvider(state);
    const replace = vi.fn(async () => undefined as unknown as boolean);
    provider.replaceTodos = replace;
    todos = new RootPool({ storage: provider }).todos;
    const error = await refusal(todos.add(todo("a")), "internal");
    expect(error.message).toBe("The storage provider did not say whether the todos were replaced");
    expect(replace).toHaveBeenCalledOnce();
  });

  it("ends with its call", async () => {
    await refusal(todos.entries({ signal: AbortSignal.abort() }), "canceled");
    await refusal(todos.add(todo("a"), { deadlineMs: Date.now() - 1 }), "deadline_exceeded");
    expect(await ids()).toEqual([]);
  });
});

describe("TodoTracker on a provider that keeps no todos", () => {
  it("is empty, and raises on changes", async () => {
    class NoTodos extends StorageProvider {}
    todos = new RootPool({ storage: new NoTodos() }).todos;
    expect(await todos.entries()).toEqual([]);
    for (const change of [todos.add(todo("a")), todos.replace([]), todos.remove("a")]) {
      expect((await refusal(change, "unimplemented")).message).toContain("NoTodos");
    }
  });
});
