import type { Todo } from "../domain/todo.js";
import type { TodoField, TodoTracker } from "../pool/todo-tracker.js";
import { print } from "./print.js";
import { withPools } from "./with-pools.js";

export interface TodoTarget {
  readonly storage: string;
  readonly namespace: string;
}

/** The fields of a todo that were given on the command line. */
export type TodoFields = { readonly [field in TodoField]?: string | undefined };

const FIELDS: readonly TodoField[] = ["content", "status", "priority"];

/** Prints the list, one JSON object a line, in the tracker's order. */
export function listTodos(target: TodoTarget): Promise<void> {
  return withTracker(target, async (tracker) => {
    for (const todo of await tracker.list()) printTodo(todo);
  });
}

export function addTodo(
  target: TodoTarget,
  content: string,
  { id, status, priority }: TodoFields & { id?: string },
): Promise<void> {
  return withTracker(target, async (tracker) => {
    printTodo(
      await tracker.add({ id: id ?? "", content, status: status ?? "pending", priority: priority ?? "medium" }),
    );
  });
}

export function updateTodo(target: TodoTarget, id: string, fields: TodoFields): Promise<void> {
  const given = FIELDS.filter((field) => fields[field] !== undefined);
  if (given.length === 0) return Promise.reject(new Error("Give at least one of --content, --status, --priority"));
  const { content = "", status = "", priority = "" } = fields;
  return withTracker(target, async (tracker) => {
    printTodo(await tracker.update({ id, content, status, priority }, given));
  });
}

export function removeTodo(target: TodoTarget, id: string): Promise<void> {
  return withTracker(target, (tracker) => tracker.remove(id));
}

export function clearTodos(target: TodoTarget): Promise<void> {
  return withTracker(target, async (tracker) => {
    await tracker.replace([]);
  });
}

function withTracker(target: TodoTarget, run: (tracker: TodoTracker) => Promise<void>): Promise<void> {
  return withPools(target.storage, (pools) => run(pools.for(target.namespace).todos));
}

function printTodo(todo: Todo): void {
  print(JSON.stringify(todo));
}
