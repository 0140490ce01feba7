import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";

const TODO = { id: "a", content: "pack", status: "pending", priority: "high" };

describe("todos in SQLite", () => {
  let database: SqliteLogDatabase;

  beforeEach(async () => {
    database = await SqliteLogDatabase.open(":memory:");
  });
  afterEach(() => database.close());

  it("are the same frozen list as long as nobody changes them", async () => {
    const store = database.namespace("default");
    await store.replaceTodos([TODO], 0);
    const first = await store.readTodos();
    expect(first).toEqual({ todos: [TODO], revision: 1 });
    expect(Object.isFrozen(first.todos) && Object.isFrozen(first.todos[0])).toBe(true);
    expect((await store.readTodos()).todos).toBe(first.todos);
  });

  it("are read again after another handle has changed them", async () => {
    const [store, other] = [database.namespace("default"), database.namespace("default")];
    await store.replaceTodos([TODO], 0);
    const first = await store.readTodos();
    const done = { ...TODO, status: "completed" };
    expect(await other.replaceTodos([done], 1)).toBe(true);
    expect(await store.readTodos()).toEqual({ todos: [done], revision: 2 });
    expect(first.todos).toEqual([TODO]);
    expect(await other.readTodos()).toEqual({ todos: [done], revision: 2 });
  });

  it("of another namespace are a different list at the same revision", async () => {
    const [store, other] = [database.namespace("default"), database.namespace("other")];
    await store.replaceTodos([TODO], 0);
    await store.readTodos();
    await other.replaceTodos([], 0);
    expect(await other.readTodos()).toEqual({ todos: [], revision: 1 });
    expect(await store.readTodos()).toEqual({ todos: [TODO], revision: 1 });
  });
});
