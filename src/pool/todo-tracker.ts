import type { Call } from "../domain/call.js";
import { checkCall, withoutAccess } from "../domain/call.js";
import { DomainError, NotImplementedError, noAnswer, notFound } from "../domain/errors.js";
import { ulidFactory } from "../domain/ids.js";
import type { Todo } from "../domain/todo.js";
import { checkTodo, checkTodos } from "../domain/validate-todos.js";
import { unlessLacking } from "./message-reads.js";
import type { PoolContext } from "./pool-context.js";
import { TurnLock } from "./turn-lock.js";

export type TodoField = "content" | "status" | "priority";

/**
 * The one todo list that all sessions share. It is kept in the store, so every process sees the same list, also after a
 * restart. Changes are all or nothing and one at a time, across processes by compare-and-set. They reject with
 * `invalid_argument` for malformed todos and beyond the limits of number and size, and otherwise as SessionPool does.
 * Without a storage manager, or with a provider that keeps no todos, the list is empty and changes are `unimplemented`.
 */
export class TodoTracker {
  readonly #root: PoolContext;
  readonly #turnLock = new TurnLock();
  readonly #makeId = ulidFactory();

  constructor(root: PoolContext) {
    this.#root = root;
  }

  /** All entries, in the tracker's order. The spec calls this collection `entries`. */
  async entries(call?: Call): Promise<readonly Todo[]> {
    checkCall(call);
    const { storage } = this.#root;
    if (storage === undefined) return [];
    return await unlessLacking(
      async () => (await storage.readTodos(call)).todos,
      async () => [],
    );
  }

  /** All entries, in the order of the tracker: another name of {@link entries}. */
  list(call?: Call): Promise<readonly Todo[]> {
    return this.entries(call);
  }

  /**
   * Replaces the whole list and resolves to it; todos with an empty id get a ULID. `invalid_argument`: one id twice.
   */
  async replace(todos: readonly Todo[], call?: Call): Promise<readonly Todo[]> {
    const next = todos.map((todo) => this.#withId(todo));
    return await this.#change(call, () => next);
  }

  /** Adds a todo at the end, with a ULID when its id is empty; resolves to it. `already_exists`. */
  async add(todo: Todo, call?: Call): Promise<Todo> {
    const added = this.#withId(todo);
    checkTodo("todo", added, this.#root.limits);
    await this.#change(call, (todos) => {
      if (todos.some(({ id }) => id === added.id)) {
        throw new DomainError("already_exists", `Todo ${JSON.stringify(added.id)} already exists`);
      }
      return [...todos, added];
    });
    return added;
  }

  /** Adds, at the end and in one change, the todos whose ids the list does not have. */
  async addMissing(todos: readonly Todo[], call?: Call): Promise<void> {
    if (todos.length === 0) return;
    await this.#change(call, (current) => {
      const known = new Set(current.map(({ id }) => id));
      return [...current, ...todos.filter(({ id }) => !known.has(id))];
    });
  }

  /** Sets these fields of the todo with this id; resolves to the changed todo. `not_found`. */
  async update(todo: Todo, fields: readonly TodoField[], call?: Call): Promise<Todo> {
    checkTodo("todo", todo, this.#root.limits);
    const changed = Object.fromEntries(fields.map((field) => [field, todo[field]]));
    const todos = await this.#change(call, (current) => {
      const place = placeOf(current, todo.id);
      return current.with(place, { ...(current[place] as Todo), ...changed });
    });
    return todos[placeOf(todos, todo.id)] as Todo;
  }

  /** Removes a todo. `not_found`. */
  async remove(todoId: string, call?: Call): Promise<void> {
    await this.#change(call, (todos) => todos.toSpliced(placeOf(todos, todoId), 1));
  }

  /** Plans a new list and stores it; starts over as long as another process was faster and the call has not ended. */
  async #change(call: Call | undefined, plan: (todos: readonly Todo[]) => readonly Todo[]): Promise<readonly Todo[]> {
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("TodoTracker", "changing todos without a storage manager");
    return await this.#turnLock.run("todos", withoutAccess(call), async () => {
      for (;;) {
        checkCall(call);
        const { todos, revision } = await storage.readTodos(call);
        const next = plan(todos);
        checkTodos(next, this.#root.limits, todos);
        const isReplaced: unknown = await storage.replaceTodos(next, revision, call);
        if (isReplaced === true) return next;
        // Without this check, a provider that returns nothing would be asked again for ever.
        if (isReplaced !== false) throw noAnswer("whether the todos were replaced");
      }
    });
  }

  #withId(todo: Todo): Todo {
    return todo.id === "" ? { ...todo, id: this.#makeId() } : todo;
  }
}

function placeOf(todos: readonly Todo[], todoId: string): number {
  const place = todos.findIndex(({ id }) => id === todoId);
  if (place < 0) throw notFound("Todo", todoId);
  return place;
}
