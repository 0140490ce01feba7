import type { Todo } from "../domain/todo.js";
import type { TodoField, TodoTracker } from "../pool/todo-tracker.js";
import { print } from "./print.js";
import { type CommandTarget, withPools } from "./with-pools.js";

/** The fields of a todo that were given on the command line. */
export type TodoFields = { readonly [field in TodoField]?: string | undefined };

const FIELDS: readonly TodoField[] = ["content", "status", "priority"];

/** Prints the list, one JSON object a line, in the tracker's order. */
export function listTodos(target: CommandTarget): Promise<void> {
  return withTracker(target, async (tracker) => {
    for (const todo of await tracker.list()) printTodo(todo);
  });
}

/** Resolves to the id of the todo. */
export function addTodo(
  target: CommandTarget,
  content: string,
  { id = "", status = "pending", priority = "medium" }: TodoFields & { id?: string },
): Promise<string> {
  return withTracker(target, async (tracker) => {
    const todo = await tracker.add({ id, content, status, priority });
    printTodo(todo);
    return todo.id;
  });
}

export function updateTodo(target: CommandTarget, id: string, fields: TodoFields): Promise<void> {
  const given = FIELDS.filter((field) => fields[field] !== undefined);
  if (given.length === 0) return Promise.reject(new Error("Give at least one of --content, --status, --priority"));
  const { content = "", status = "", priority = "" } = fields;
  return withTracker(target, async (tracker) => {
    printTodo(await tracker.update({ id, content, status, priority }, given));
  });
}

export function removeTodo(target: CommandTarget, id: string): Promise<void> {
  return withTracker(target, (tracker) => tracker.remove(id));
}

export function clearTodos(target: CommandTarget): Promise<void> {
  return withTracker(target, async (tracker) => {
    await tracker.replace([]);
  });
}

function withTracker<T>(target: CommandTarget, run: (tracker: TodoTracker) => Promise<T>): Promise<T> {
  const { storage, namespace, limits } = target;
  return withPools(storage, (pools) => run(pools.for(namespace).todos), { limits });
}

function printTodo(todo: Todo): void {
  print(JSON.stringify(todo));
}
